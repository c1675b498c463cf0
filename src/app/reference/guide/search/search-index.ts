/**
 * Search over sections of pages and operations, in memory. A query has at most 100 characters and eight words; its cost is
 * bounded by that and by the size of the documents.
 */
import { setImmediate } from 'node:timers/promises';

export type Section = {
  url: string;
  title: string;
  /** Heading inside the page; empty for its beginning. */
  heading: string;
  text: string;
};

export type Hit = Section & { score: number };

export type SearchIndex = (query: string) => { hits: readonly Hit[]; words: readonly string[] };

export const queryLengthMax = 100;
const wordsMax = 8;
const hitsMax = 20;
/** Words of the documents that one word of a query may stand for as their beginning. */
const expansionsMax = 50;

/** Words in lower case. A name such as `previous_seq` or `order.new` is a word, and so is each of its parts. */
const wordsOf = (text: string): string[] =>
  (text.toLowerCase().match(/[\p{L}\p{N}_.]+/gu) ?? []).flatMap((run) => {
    const word = run.replaceAll(/^[_.]+|[_.]+$/g, '');
    const parts = word.split(/[_.]+/);
    return parts.length > 1 ? [word, ...parts] : parts;
  });

export const queryWords = (query: string): string[] => {
  const runs =
    query
      .slice(0, queryLengthMax)
      .toLowerCase()
      .match(/[\p{L}\p{N}_.]+/gu) ?? [];
  const words = runs.map((run) => run.replaceAll(/^[_.]+|[_.]+$/g, '')).filter((word) => word !== '');
  return [...new Set(words)].slice(0, wordsMax);
};

/**
 * Makes the index from groups of sections. Other work of the process runs between two groups, since the whole index takes a
 * good part of a second.
 */
export const createSearchIndex = async (groups: Iterable<readonly Section[]>): Promise<SearchIndex> => {
  const sections: Section[] = [];
  const postings = new Map<string, Map<number, number>>();
  for (const group of groups) {
    for (const section of group) {
      const index = sections.push(section) - 1;
      addWords(postings, index, section.title, 8);
      addWords(postings, index, section.heading, 5);
      addWords(postings, index, section.text, 1);
    }
    await setImmediate();
  }
  const vocabulary = [...postings.keys()].toSorted();
  const scoresOf = (word: string): Map<number, number> => {
    const scores = new Map<number, number>();
    for (const found of expand(vocabulary, word)) {
      const places = postings.get(found) ?? new Map<number, number>();
      const rarity = Math.log(1 + sections.length / places.size);
      for (const [index, weight] of places) {
        // Many occurrences count little more than some.
        const score = (rarity * weight * (found === word ? 2 : 1)) / (weight + 4);
        scores.set(index, Math.max(scores.get(index) ?? 0, score));
      }
    }
    return scores;
  };
  return (query) => {
    const words = queryWords(query);
    const all = words.map(scoresOf);
    const candidates = new Set(all.flatMap((scores) => [...scores.keys()]));
    const rated = [...candidates].map((index) => {
      const found = all.flatMap((scores) => scores.get(index) ?? []);
      return { index, count: found.length, score: found.reduce((sum, one) => sum + one, 0) };
    });
    // Sections with every word, or else those with the most.
    const most = rated.reduce((max, { count }) => Math.max(max, count), 0);
    const best = rated.filter(({ count }) => count === most).toSorted((a, b) => b.score - a.score || a.index - b.index);
    const hits = best.slice(0, hitsMax).flatMap(({ index, score }) => {
      const section = sections[index];
      return section === undefined ? [] : [{ ...section, score }];
    });
    return { hits, words };
  };
};

const addWords = (postings: Map<string, Map<number, number>>, index: number, text: string, weight: number): void => {
  for (const word of wordsOf(text)) {
    const places = postings.get(word) ?? new Map<number, number>();
    places.set(index, (places.get(index) ?? 0) + weight);
    postings.set(word, places);
  }
};

/** The words that begin with `word`, itself first. */
const expand = (vocabulary: readonly string[], word: string): string[] => {
  let low = 0;
  let high = vocabulary.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((vocabulary[middle] ?? '') < word) low = middle + 1;
    else high = middle;
  }
  const found: string[] = [];
  for (let at = low; at < vocabulary.length && found.length < expansionsMax; at += 1) {
    const candidate = vocabulary[at] ?? '';
    if (!candidate.startsWith(word)) break;
    found.push(candidate);
    if (word.length < 2) break;
  }
  return found;
};
