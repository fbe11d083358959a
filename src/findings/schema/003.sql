-- Occurrences know the number of their case (-1: of no range), and follow-ups what came of them: so what is kept does not
-- hang on which worker was first.
CREATE TABLE @moved AS SELECT signature, engine, recipe, version, title, factor, seen FROM @occurrences;
DROP TABLE @occurrences;
CREATE TABLE @occurrences (signature TEXT NOT NULL, engine TEXT NOT NULL, recipe TEXT NOT NULL,
    version TEXT NOT NULL, title TEXT NOT NULL, factor DOUBLE PRECISION, seen BIGINT NOT NULL,
    number BIGINT NOT NULL DEFAULT -1, PRIMARY KEY (signature, engine, recipe));
INSERT INTO @occurrences SELECT signature, engine, recipe, version, title, factor, seen, -1 FROM @moved;
DROP TABLE @moved;
DROP TABLE @follow_ups;
-- number: of the case that is reduced; target, nodes: of what it was reduced to. finished = 0: under way, or lost.
CREATE TABLE @follow_ups (signature TEXT PRIMARY KEY, number BIGINT NOT NULL, target TEXT NOT NULL,
    nodes BIGINT NOT NULL, owner TEXT NOT NULL, attempts BIGINT NOT NULL, until DOUBLE PRECISION NOT NULL,
    finished DOUBLE PRECISION NOT NULL);
