'use strict';
/* Draws what the server sends (docs/json.md: campaign). Texts of the database become text nodes, never markup. */
const get = id => document.getElementById(id);
const MOST_WORKERS = 200, LATE = 15000;

function make(tag, kind, ...children) {
  const node = document.createElement(tag);
  if (kind) node.className = kind;
  node.append(...children);
  return node;
}
const finite = x => typeof x === 'number' && Number.isFinite(x) ? x : 0;
const whole = x => Math.round(finite(x)).toLocaleString('en');
const short = x => x >= 1e6 ? +(x / 1e6).toPrecision(3) + ' M' : x >= 1e4 ? +(x / 1e3).toPrecision(3) + ' k'
  : x >= 10 || x === 0 ? String(Math.round(x)) : String(+x.toPrecision(2));
const percent = x => (100 * finite(x)).toFixed(1) + ' %';
function bytes(x) {
  for (const unit of ['B', 'KB', 'MB', 'GB']) {
    if (x < 1000) return (x < 10 && unit !== 'B' ? x.toFixed(1) : Math.round(x)) + ' ' + unit;
    x /= 1000;
  }
  return x.toFixed(1) + ' TB';
}
function time(seconds) {
  const s = Math.max(0, Math.round(finite(seconds))), two = n => String(n).padStart(2, '0');
  return Math.floor(s / 3600) + ':' + two(Math.floor(s / 60) % 60) + ':' + two(s % 60);
}
function ago(seconds) {
  if (!(seconds >= 0)) return 'none yet';
  if (seconds < 90) return Math.round(seconds) + ' s ago';
  return seconds < 5400 ? Math.round(seconds / 60) + ' min ago' : (seconds / 3600).toFixed(1) + ' h ago';
}

/* The drawings are the server's own, made of numbers. */
function charts(data) {
  const drawn = new DOMParser().parseFromString(data.charts, 'text/html');
  get('charts').replaceChildren(...drawn.body.children);
}

function figures(data) {
  const last = data.coverage[data.coverage.length - 1], states = data.worker_states;
  const figure = (number, words, kind) => make('div', 'figure', make('b', kind || '', number), make('span', '', words));
  const limit = finite(data.of_cases) > 0 ? ` of ${whole(data.of_cases)}` : '';
  get('figures').replaceChildren(
    figure(whole(data.cases), 'cases' + limit),
    figure(short(finite(data.rate)), 'cases a second'),
    figure(whole(data.findings), `distinct findings, ${whole(data.known)} known`, data.findings > data.known ? 'bad' : ''),
    figure(ago(data.last_new), 'newest finding'),
    figure(last ? percent(last.olc) : '–', 'operators covered (OLC)'),
    figure(`${states.alive} alive`, `workers: ${states.stuck} stuck, ${states.lost} lost, ${states.idle} idle`, states.stuck + states.lost ? 'warn' : ''),
    figure(time(data.seconds), 'run time'),
    figure(bytes(finite(data.bytes)), 'in the database'));
}

function table(id, heads, rows, none) {
  const target = get(id);
  if (!rows.length) {
    target.replaceChildren(make('caption', 'none', none));
    return;
  }
  const head = make('tr', '', ...heads.map(h => make('th', h.startsWith('#') ? 'n' : '', h.replace('#', ''))));
  target.replaceChildren(make('thead', '', head), make('tbody', '', ...rows));
}
const cell = (text, kind) => make('td', kind || '', text);
const count = n => cell(String(n), n ? 'n' : 'n zero');

function groups(data) {
  const classes = ['engine bug', 'difference', 'precision', 'unknown'];
  for (const g of data.groups) if (!classes.includes(g.class)) classes.push(g.class);
  const engines = [...new Set(data.groups.map(g => g.engine))];
  const sum = list => list.reduce((n, g) => n + g.count, 0);
  table('groups', ['engine', ...classes.map(c => '#' + c), '#all'], engines.map(engine => {
    const own = data.groups.filter(g => g.engine === engine);
    return make('tr', '', cell(engine), ...classes.map(c => count(sum(own.filter(g => g.class === c)))), count(sum(own)));
  }), 'Nothing was found yet.');
}

const kinds = {alive: 'good', stuck: 'bad', lost: 'bad', idle: 'soft'};
function workers(data) {
  const order = ['stuck', 'lost', 'alive', 'idle'];
  const sorted = data.workers.slice().sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
  const rows = sorted.slice(0, MOST_WORKERS).map(w => make('tr', '', cell(w.worker), cell(w.state, kinds[w.state]),
    cell(w.task || '–'), cell(w.seconds ? time(w.seconds) : '', 'n'), cell(whole(w.cases), 'n')));
  if (sorted.length > rows.length) rows.push(make('tr', '', cell(`and ${sorted.length - rows.length} more`, 'soft')));
  table('workers', ['worker', 'state', 'at work on', '#for', '#cases in an hour'], rows, 'No worker has a lease.');
}

function link(name, file, words) {
  const a = make('a', '', words);
  a.href = encodeURIComponent(name) + '/' + file;
  return a;
}
function findings(data) {
  table('findings', ['finding', 'class', 'engine', '#nodes', 'first seen, UTC', 'status', ''], data.newest.map(f => {
    const links = make('td', 'w');
    if (f.report) links.append(link(f.name, '', 'report'), ' ');
    if (f.map) links.append(link(f.name, 'map.svg', 'map'));
    return make('tr', '', make('td', 't', make('div', '', f.title)), cell(f.class, f.class === 'engine bug' ? 'bad w' : 'w'), cell(f.engine, 'e'), cell(whole(f.nodes), 'n'),
      cell((f.first_seen || '').slice(0, 16), 'w'), cell(f.status), links);
  }), 'Nothing was found yet.');
}

let heard = Date.now();
function say(text, trouble) {
  get('sentence').textContent = text;
  get('sentence').className = trouble ? 'trouble' : '';
}
function show(data) {
  heard = Date.now();
  document.title = data.campaign + ' · Assay campaign';
  get('name').textContent = data.campaign;
  say(data.sentence, false);
  get('options').textContent = data.options || '';
  get('when').textContent = 'Last heard at ' + new Date().toLocaleTimeString() + '.';
  figures(data);
  charts(data);
  groups(data);
  workers(data);
  findings(data);
}
const events = new EventSource('events');
events.onmessage = event => show(JSON.parse(event.data));
events.addEventListener('trouble', event => { heard = Date.now(); say(JSON.parse(event.data).message, true); });
setInterval(() => { if (Date.now() - heard > LATE) say("'assay campaign serve' does not answer; the page shows what was last heard.", true); }, 2000);
