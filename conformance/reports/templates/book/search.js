// The ranking of the search, without a page: `prepared` makes an index of search-index.js, `search` asks it. A title that is
// the query comes first, then titles that begin with it, then the rest; of a long query most words must be there. What people
// call things otherwise is in NAMES, and a word that nothing has is read as the nearest word that something has.
"use strict";
const LITTLE = new Set("a after an and answer answered answers are at by can client do does for from happens how i if in is it kafka member must my of on or should so that the then to too was what when while why with".split(" "));
const words = (text) => {
  const all = text.toLowerCase().split(/[\s,;?]+/).filter(Boolean);
  const full = all.filter((word) => !LITTLE.has(word));
  return (full.length ? full : all).map((word) => word.replace(/\.ms$/, "").replace(/^([a-z]{3,})s$/, "$1"));
};
const said = (title, kind, also) => {
  // A cell is found by the words for its state and its event, too.
  const machine = /^(?:cell|state) of (\w+)/.exec(kind)?.[1];
  return machine ? title.split(" ").map((name) => also[`${machine}.${name}`] ?? also[name] ?? "").filter(Boolean).join("; ") : "";
};
const prepared = ({ BOOK, ALSO, NAMES }) => {
  const entries = BOOK.map(([title, kind, address, own]) => {
    const text = [said(title, kind, ALSO), own].filter(Boolean).join(": ");
    return { title, kind, address, text, low: `${title} ${kind} ${text}`.toLowerCase(), name: title.toLowerCase() };
  });
  const names = NAMES.flatMap(([phrases, means]) => phrases.map((phrase) => ({ words: words(phrase), means })));
  const known = new Map();
  const learn = (text) => { for (const word of text.match(/[a-z]{4,}/g) ?? []) known.set(word, (known.get(word) ?? 0) + 1); };
  for (const { low } of entries) learn(low);
  for (const name of names) learn(name.words.join(" "));
  return { entries, names, known };
};

// How many letters are missing, too many, wrong or in the wrong order; more than `most` is `most + 1`.
const distance = (one, other, most) => {
  if (Math.abs(one.length - other.length) > most) return most + 1;
  let [before, last] = [[], Array.from({ length: other.length + 1 }, (_, place) => place)];
  for (let i = 1; i <= one.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= other.length; j += 1) {
      row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (one[i - 1] === other[j - 1] ? 0 : 1));
      if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]) row[j] = Math.min(row[j], before[j - 2] + 1);
    }
    [before, last] = [last, row];
  }
  return last[other.length];
};
const spelled = (word, { entries, names, known }) => {
  if (word.length < 4 || entries.some(({ low }) => low.includes(word)) || names.some((name) => name.words.some((each) => each.includes(word)))) return word;
  const most = word.length < 7 ? 1 : 2;
  let best = [most + 1, 0, word];
  for (const [each, times] of known) {
    const far = distance(word, each, most);
    if (far < best[0] || (far === best[0] && far <= most && times > best[1])) best = [far, times, each];
  }
  return best[2];
};

const weight = (entry, query, asked, has) => {
  // `query` as it was typed: neighbours in it that are neighbours in the entry count, too.
  let value = 0;
  if (entry.name === query) value += 1000;
  else if (entry.name.startsWith(query)) value += 300;
  else if (entry.name.includes(query)) value += 150;
  for (const word of asked) {
    if (entry.name.split(/[\s_:.,-]+/).includes(word)) value += 60;
    else if (entry.name.includes(word)) value += 30;
    else if (new RegExp(`\\b${word.replace(/[^\w]/g, "\\$&")}`).test(entry.low)) value += 8;
  }
  query.split(/\s+/).forEach((word, place, all) => { if (place && entry.low.includes(`${all[place - 1]} ${word}`)) value += 10; });
  const kind = { rule: 40, answer: 40, term: asked.length < 3 ? 260 : 0, chapter: asked.length < 3 ? 260 : 0 }[entry.kind] ?? 0;
  const cell = entry.kind.startsWith("cell") && asked.length < 3 ? 90 : 0;
  return value + kind - cell - (entry.kind.endsWith("published") ? 5 : 0) + (entry.text.includes("→") ? 6 : 0) + has * 70 - (entry.low.length > 1000 ? 50 : 0) - Math.log2(entry.low.length);
};
const named = (asked, names) => {
  // Titles that people mean, and how much they mean them: more than any other, in their order, the longest phrase first.
  const found = new Map();
  for (const name of names) {
    if (!name.words.every((word) => asked.includes(word))) continue;
    name.means.forEach((title, place) => found.set(title, Math.max(found.get(title) ?? 0, name.words.length * 20000 - place * 2000)));
  }
  return found;
};

// Entries, the best first; `read`: how the query was read where it was misspelt; `all`: whether the first has all of its words.
const search = (index, typed) => {
  const query = typed.trim().toLowerCase();
  const first = words(query);
  const asked = first.map((word) => spelled(word, index));
  const wrong = first.map((word, place) => [word, asked[place]]).filter(([word, right]) => word !== right);
  const read = wrong.length ? wrong.reduce((text, [word, right]) => text.replace(word, right), query) : "";
  const meant = named(asked, index.names);
  const counted = index.entries.map((entry) => [entry, asked.filter((word) => entry.low.includes(word)).length]);
  const best = Math.max(1, ...counted.map(([, has]) => has));
  const enough = asked.length > 2 ? Math.max(best - 1, 2) : best;
  const found = counted
    .filter(([entry, has]) => has >= enough || meant.has(entry.title))
    .map(([entry, has]) => ({ entry, value: weight(entry, read || query, asked, has) + (meant.get(entry.title) ?? 0) }))
    .sort((a, b) => b.value - a.value)
    .map(({ entry }) => entry);
  return { found, read, all: meant.size > 0 || best >= asked.length };
};
