"""Hostile bundles, campaign folders, databases and lists of known issues: valid ones, as Assay wrote them, with some of their
fields, files and rows replaced by what a stranger would put there. The same for the same seed."""
import json
import os
import random
import shutil
import sqlite3
import stat

LONG = 200000
NUMBERS = [0, -1, 1, 2, 31, 255, 1 << 31, -(1 << 31), (1 << 63) - 1, 1 << 63, -(1 << 63), 10 ** 30, 0.5, 1e308, -1e308, 5e-324]
TEXTS = ["", ".", "..", "/", "a\0b", "a\nb", "\x1b]0;T\x07\x1b[2J", "\u202eturned", "<script>alert(1)</script>", "%s%n%n", "'; DROP TABLE x; --",
         "x" * LONG, "*" * 15, "a|" * 3000, "[" * 5000, "-o", "--sandbox=off", "NaN", "inf", "null"]


class Places:
    """What a stranger would like to reach on the machine of whoever reads the item."""

    def __init__(self, home, beside):
        self.home, self.beside = home, beside
        files = [".bashrc", ".ssh/authorized_keys", ".ssh/id_rsa", ".pgpass", ".netrc", "projects/notes.txt", "projects/made-new",
                 "projects/found/assay.db", ".config/assay/engines.ini"]
        self.written = [os.path.join(home, name) for name in files] + [os.path.join(beside, "victim"), os.path.join(beside, "made-new")]
        self.folders = [home, os.path.join(home, ".ssh"), os.path.join(home, "projects"), os.path.join(home, "projects/made-folder"), beside]

    def path(self, draw):
        target = draw.choice(self.written)
        return draw.choice([target, target, "../" * draw.randint(1, 8) + target.lstrip("/"), "./" + target, "file://" + target,
                            "/proc/self/environ", "/dev/stdin", "/dev/zero", os.path.join(self.home, "." * 3000)])


class Maker:
    """Draws items from seeds that Assay wrote: folders `bundles`, `campaigns`, `searches`, `known` and `models` below `seeds`."""

    def __init__(self, seeds, places, engines):
        self.seeds, self.places, self.engines = seeds, places, engines
        self.draw = random.Random()

    # Texts of the kinds that Assay reads.

    def label(self):
        draw = self.draw
        engine = draw.choice(self.engines)
        name = engine["name"]
        # Plainly to the point: a knob that takes a file, and a file of the user's.
        takers = [(one["name"], knob["name"]) for one in self.engines for knob in one["knobs"] if knob["values"] in ("PATH", "FILE", "NAME")]
        if takers and draw.random() < 0.4:
            return "%s:%s=%s" % (*draw.choice(takers), draw.choice(self.places.written))
        version = draw.choice(["", "", "", "@all", "@1.0", "@" + self.places.path(draw), "@../../x"])
        knobs = []
        for _ in range(draw.choice([0, 1, 1, 1, 2, 5])):
            own = [knob["name"] for knob in engine["knobs"]] or ["mode"]
            knob = draw.choice(own + ["save", "source", "load", "library", "plugin", "profile", "disable", "mode", "fault", draw.choice(TEXTS)])
            knobs.append(f"{knob}={draw.choice([self.places.path(draw), self.places.path(draw), 'on', '1', self.any_text()])}")
        plain = name + version + (":" + ",".join(knobs) if knobs else "")
        spy = f"hostile:mode=spy@{self.places.home}"
        return draw.choice([plain] * 8 + [spy, self.any_text(), draw.choice(self.places.written), "../../bin/sh", plain + "\n" + plain])

    def any_text(self):
        return self.draw.choice(TEXTS + [self.places.path(self.draw), str(self.draw.choice(NUMBERS))])

    def rewriting(self):
        draw = self.draw
        steps = []
        if draw.random() < 0.3:
            return f"knob@{draw.choice(['save', 'source'])}={draw.choice(self.places.written)}"
        for _ in range(draw.choice([1, 1, 1, 2, 17, 200])):
            rule = draw.choice(["knob", "knob", "knob", "again", "fresh", "saved", "opset", "identity", "split-batch", self.any_text()])
            site = draw.choice(["", "@opt=none", f"@save={self.places.path(draw)}", f"@{draw.choice(['source', 'load', 'profile', 'library'])}="
                                + self.places.path(draw), f"@threads={draw.choice(NUMBERS)}", "@y", "@%00", "@" + self.any_text()])
            steps.append(rule + site + draw.choice(["", "", f"#{draw.choice(NUMBERS)}"]))
        return draw.choice([" ", "  "]).join(steps)

    def recipe(self):
        draw = self.draw
        number = draw.choice(NUMBERS + [10 ** 400])
        return draw.choice([
            f"one seed={number} index={draw.choice(NUMBERS)} ops=Relu,Neg", f"case {self.places.path(draw)}", "case cases/../../x",
            f"case cases/{draw.choice(TEXTS)}", f"plan seed=1 index={number} topology=line blocks=" + "Relu," * draw.choice([3, 40000]),
            f"one seed=1 index=1 ops={'Loop,' * draw.choice([1, 20000])}", f"one seed=1 index=1 ops=Relu rewritten {self.rewriting()}",
            f"file {self.places.path(draw)}", self.any_text(), "plan seed=1 index=1 blocks=" + self.places.path(draw)])

    def issue(self):
        """A line of a list of known issues, and sometimes a whole entry of many."""
        draw = self.draw
        key = draw.choice(["engine", "knobs", "symptom", "operators", "input", "group", "message", "attribute", "case", "cause", "got", "asked",
                           "include", self.any_text()])
        stars = "*" * draw.choice([1, 15, 300])
        value = draw.choice([stars, stars.join("abcdefgh"), "Relu|" * draw.choice([1, 9000]), self.places.path(draw), self.any_text(),
                             "(a+)+$", "a{1,99999}", "[a-", "\\", "Add -> " * draw.choice([2, 60]) + stars])
        return f"{key} = {value}"

    def entry(self, number):
        """An issue in the form that is asked for, whose patterns and numbers are meant to take long."""
        draw = self.draw
        # The limits (32 operators, 1 MB) are kept by most.
        stars = " ".join(["*"] * draw.choice([1, 15, 15, 31, 200 if draw.random() < 0.02 else 15]))
        pattern = "*".join("abcdefghijklmnop"[:draw.choice([2, 16])] * draw.choice([1, 20]))
        low, high = sorted(draw.choice(NUMBERS) for _ in range(2))
        lines = [f"[x{number}]", "engine = " + draw.choice(["identity", "reference", "onnxruntime"]), "symptom = wrong nan shape refused crash",
                 "operators = " + draw.choice([stars, f"* * * * * * * Relu {stars[:40]}", ", ".join([stars] * 20), "R*|N* *", "|".join(["Relu"] * 20)]),
                 draw.choice([f"factor = {low}..{high}", "opset = 1..99", f"message = {pattern}|{pattern}", "input = float32|int*|float16",
                              f"attribute = alpha!={high}", "*.input = magnitude>=0", f"input.{abs(int(low)) % 1000} = some<{high}"]),
                 "cause = " + draw.choice(["x", "<b>x</b>", "\x1b[2J", "y" * 300]), "case = " + draw.choice(self.places.written)]
        return "\n".join(lines) + "\n"

    # Documents.

    def value(self, before):
        draw = self.draw
        if isinstance(before, str) and draw.random() < 0.8:
            return draw.choice([self.label, self.label, self.rewriting, self.recipe, self.any_text])()
        return draw.choice([draw.choice(NUMBERS), self.any_text(), None, True, [], {}, [before] * draw.choice([0, 2, 3000]),
                            self.nested(), self.label()])

    def nested(self):
        value = 1
        for _ in range(self.draw.choice([3, 60, 900])):
            value = [value] if self.draw.random() < 0.5 else {"engine": value}
        return value

    def change_json(self, document):
        draw = self.draw
        places = []

        def walk(node):
            for key in node if isinstance(node, dict) else range(len(node)):
                places.append((node, key))
                if isinstance(node[key], (dict, list)):
                    walk(node[key])

        walk(document)
        known = {"engine": self.label, "rewriting": self.rewriting, "recipe": self.recipe, "name": self.any_text, "title": self.any_text,
                 "message": self.any_text, "version": self.any_text, "signature": self.any_text, "known": lambda: self.places.path(draw)}
        for _ in range(draw.choice([1, 1, 2, 4])):
            if draw.random() < 0.6:
                key = draw.choice(list(known))
                document[key] = known[key]()
                if key == "engine" and document.get("engines"):
                    document["engines"] = [{**one, "engine": document["engine"]} for one in document["engines"] if isinstance(one, dict)]
            else:
                node, key = draw.choice(places)
                node[key] = self.value(node[key])

    def rewrite_json(self, path):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        try:
            document = json.loads(text)
            self.change_json(document)
            text = json.dumps(document, allow_nan=True)
        except (ValueError, TypeError):
            pass
        if self.draw.random() < 0.1:
            at = self.draw.randrange(len(text) or 1)
            text = text[:at] + self.any_text() + text[at + self.draw.choice([0, 1, 50]):]
        with open(path, "w", encoding="utf-8", errors="surrogatepass") as file:
            file.write(text)

    # Files and folders.

    def inside(self, folder, kinds):
        found = []
        for top, folders, files in os.walk(folder):
            found += [os.path.join(top, name) for name in (files if kinds == "files" else folders)]
        return sorted(path for path in found if not os.path.islink(path))

    def replace(self, path):
        """In place of a file or folder: a link, a pipe, a folder, noise, nothing."""
        draw = self.draw
        how = draw.choice(["link", "link", "link", "folder link", "pipe", "folder", "noise", "cut", "large", "gone", "open"])
        if not os.path.isfile(path) and how in ("noise", "cut", "open"):  # a folder, or a pipe that stands there already
            how = "folder link"
        if how == "open":
            os.chmod(path, draw.choice([0, 0o4777, 0o200]))
            return
        if how in ("noise", "cut"):
            with open(path, "r+b") as file:
                size = os.path.getsize(path)
                file.seek(draw.randrange(size + 1))
                file.write(draw.randbytes(draw.choice([1, 30]))) if how == "noise" else file.truncate()
            return
        shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        if how == "link":
            os.symlink(self.places.path(draw).replace("\0", "") if draw.random() < 0.3 else draw.choice(self.places.written), path)
        elif how == "folder link":
            os.symlink(draw.choice(self.places.folders), path)
        elif how == "pipe":
            os.mkfifo(path)
        elif how == "folder":
            os.mkdir(path)
        elif how == "large":
            with open(path, "wb") as file:
                file.truncate(draw.choice([1 << 20, 1 << 33]))

    def add(self, folder):
        """A file, folder or link that Assay might make there itself."""
        draw = self.draw
        name = draw.choice(["lock", "assay.db-wal", "assay.db-shm", "assay.db-journal", "known.ini", "report.md", "map.svg", "README.md",
                            "finding.json", "findings", "cases", "model.onnx.data", "data.json", "test_data_set_0", "rewritten", "actual", ".part",
                            "-e", "a\nb", "\x1b[2J"])
        path = os.path.join(folder, name)
        if os.path.lexists(path):
            return self.replace(path)
        if draw.random() < 0.8:
            os.symlink(draw.choice(self.places.written + self.places.folders), path)
        else:
            os.mkfifo(path)

    def change_files(self, folder):
        draw = self.draw
        for _ in range(draw.choice([1, 1, 2, 3])):
            kind = draw.random()
            files, folders = self.inside(folder, "files"), self.inside(folder, "folders")
            if kind < 0.3:
                self.add(draw.choice(folders + [folder]))
            elif kind < 0.45 and folders:
                self.replace(draw.choice(folders))
            elif files:
                self.replace(draw.choice(files))

    def change_model(self, folder):
        """Another model in its place, which says that its data lie elsewhere."""
        draw = self.draw
        models = sorted(os.listdir(os.path.join(self.seeds, "models")))
        files = [path for path in self.inside(folder, "files") if path.endswith(".onnx")]
        if files:
            shutil.copyfile(os.path.join(self.seeds, "models", draw.choice(models)), draw.choice(files))

    # Items.

    def copy(self, kind, target):
        options = sorted(os.listdir(os.path.join(self.seeds, kind)))
        source = os.path.join(self.seeds, kind, self.draw.choice(options))
        if os.path.isdir(source):
            shutil.copytree(source, target, symlinks=True)
        else:
            shutil.copyfile(source, target)

    def bundle(self, target):
        self.copy("bundles", target)
        part = self.draw.random()
        if part < 0.75:
            self.rewrite_json(os.path.join(target, "finding.json"))
        if part > 0.6:
            self.change_files(target)
        if self.draw.random() < 0.15:
            self.change_model(target)

    def row_value(self, table, column):
        draw = self.draw
        by_name = {"engine": self.label, "label": self.label, "recipe": self.recipe, "bundle": lambda: draw.choice(
            [self.places.path(draw), "findings/../../x", "findings/" + self.any_text()])}
        if column in by_name and draw.random() < 0.8:
            return by_name[column]()
        return draw.choice([self.any_text(), self.label(), self.recipe(), draw.choice([n for n in NUMBERS if abs(n) < 1 << 62])])

    def state_rows(self):
        """Options and snapshots that a campaign goes on from."""
        draw = self.draw
        return draw.choice([
            ("fuzz-options", f"seed {draw.choice(NUMBERS)}, strategy mcts, engines {self.label()}, {self.label()}"),
            ("fuzz-snapshot", "".join(f"{word} {draw.choice(NUMBERS)}\n" for word in ("first", "cases", "elapsed", "known"))),
            ("shared-options", "-e\n" + self.label() + "\n--known\n" + self.places.path(draw)),
            ("class " + self.any_text(), self.any_text()), ("facts " + self.any_text(), json.dumps({"engine": self.label()}))])

    def campaign(self, target, kind="campaigns"):
        draw = self.draw
        self.copy(kind, target)
        part = draw.random()
        if part < 0.7:
            base = sqlite3.connect(os.path.join(target, "assay.db"))
            tables = {name: [row[1] for row in base.execute(f"PRAGMA table_info({name})")]
                      for name, in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            for _ in range(draw.choice([1, 2, 4])):
                table = draw.choice(["findings", "engines", "occurrences", "state", draw.choice(sorted(tables))])
                column = draw.choice(tables[table])
                try:
                    if table == "state" and draw.random() < 0.7:
                        base.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", self.state_rows())
                    else:
                        base.execute(f"UPDATE OR IGNORE {table} SET {column} = ?", (self.row_value(table, column),))
                    if draw.random() < 0.3:
                        base.execute("UPDATE findings SET bundle = '', status = 'new'")
                except (sqlite3.Error, OverflowError, UnicodeEncodeError):
                    pass
            base.commit()
            base.close()
        if part > 0.5:
            self.change_files(target)
        if draw.random() < 0.2:
            issues = draw.choice([self.entry(0), "".join(self.entry(number) for number in range(200)),
                                  "[x]\n" + "\n".join(self.issue() for _ in range(5)) + "\n"])
            if not os.path.lexists(os.path.join(target, "known.ini")):
                with open(os.path.join(target, "known.ini"), "w", errors="surrogatepass") as file:
                    file.write(issues)
        for path in self.inside(target, "files"):
            if path.endswith("finding.json") and draw.random() < 0.2 and stat.S_ISREG(os.lstat(path).st_mode):
                try:
                    self.rewrite_json(path)
                except (OSError, UnicodeDecodeError):
                    pass

    def search(self, target):
        self.campaign(target, "searches")

    def known(self, target):
        draw = self.draw
        self.copy("known", target)
        if draw.random() < 0.12:
            return self.replace(target)
        if draw.random() < 0.6:
            with open(target, "a", encoding="utf-8") as file:
                file.write("\n" + "\n".join(self.entry(number) for number in range(draw.choice([1, 1, 30, 300]))))
            return None
        with open(target, encoding="utf-8") as file:
            lines = file.read().split("\n")
        for _ in range(draw.choice([1, 3, 10])):
            lines.insert(draw.randrange(len(lines)), self.issue().replace("\0", ""))
        if draw.random() < 0.3:
            lines.insert(draw.randrange(len(lines)), "[" + self.any_text() + "]")
        with open(target, "w", encoding="utf-8", errors="surrogatepass") as file:
            file.write("\n".join(lines))

    def statements(self, tables):
        """SQL that changes a campaign in PostgreSQL: rows, and what its owner can put in place of tables."""
        draw = self.draw

        def quoted(value):
            return "'" + str(value).replace("\0", "").replace("'", "''") + "'"

        some = []
        for _ in range(draw.choice([1, 2, 4])):
            table = draw.choice(["findings", "leases", "files", "state", draw.choice(sorted(tables))])
            column, kind = draw.choice(tables[table])
            if table == "state" and draw.random() < 0.7:
                name, value = self.state_rows()
                some.append(f"INSERT INTO @.state VALUES ({quoted(name)}, {quoted(value)}) ON CONFLICT (name) DO UPDATE SET value = excluded.value")
            elif kind == "text":
                some.append(f"UPDATE @.{table} SET {column} = {quoted(self.row_value(table, column))} WHERE ctid = (SELECT min(ctid) FROM @.{table})")
            else:
                number = draw.choice([n for n in NUMBERS if abs(n) < 1 << 62])
                some.append(f"UPDATE @.{table} SET {column} = {number if kind != 'bigint' else int(number) % (1 << 62)}")
        if draw.random() < 0.3:
            table = draw.choice(sorted(tables))
            some.append(draw.choice([
                f"ALTER TABLE @.{table} RENAME TO real; CREATE VIEW @.{table} AS SELECT * FROM @.real, pg_sleep(100)",
                f"CREATE RULE r AS ON INSERT TO @.{table} DO ALSO SELECT pg_sleep(100)",
                f"ALTER TABLE @.{table} ENABLE ROW LEVEL SECURITY; ALTER TABLE @.{table} FORCE ROW LEVEL SECURITY",
                f"DROP TABLE @.{table}", f"ALTER TABLE @.{table} ADD COLUMN more TEXT DEFAULT 'x'",
                f"CREATE INDEX ON @.{table} ((1 + length(current_user)))"]))
        return some
