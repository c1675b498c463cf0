/** /docs/search?q=…: what was found, as HTML in which the words of the query are marked. */
import { escapeHtml } from '../markdown/escape-html.ts';
import { type Hit, queryLengthMax, queryWords, type SearchIndex } from './search-index.ts';

/** HTML of the results; the script of the pages shows the same element. */
export const resultsOf = (search: SearchIndex, query: string): string => {
  const trimmed = query.trim();
  if (trimmed === '') return status('Enter words to search for.');
  const { hits, words } = search(trimmed);
  const cut = trimmed.length > queryLengthMax ? ` Only the first ${queryLengthMax} characters were searched.` : '';
  if (hits.length === 0) return status(`Nothing was found.${cut}`);
  const items = hits.map((hit) => `<li>${itemOf(hit, words)}</li>`);
  return `${status(`${hits.length === 1 ? 'One result' : `${hits.length} results`}.${cut}`)}<ol class="results">${items.join('')}</ol>`;
};

const status = (text: string): string => `<p role="status">${text}</p>`;

const itemOf = ({ url, title, heading, text }: Hit, words: readonly string[]): string => {
  const part = heading === '' ? '' : ` <span class="part">${mark(heading, words)}</span>`;
  const excerpt = excerptOf(text, words);
  return `<a href="${escapeHtml(url)}"><strong>${mark(title, words)}</strong>${part}${excerpt === '' ? '' : `<span class="excerpt">${mark(excerpt, words)}</span>`}</a>`;
};

const isMatch = (run: string, words: readonly string[]): boolean => {
  const [lower = ''] = queryWords(run);
  const parts = [lower, ...lower.split(/[_.]+/)];
  return parts.some((part) => words.some((word) => part.startsWith(word)));
};

/** Escapes the text and marks the words that the query names. */
const mark = (text: string, words: readonly string[]): string =>
  text
    .split(/([\p{L}\p{N}_.]+)/u)
    .map((run, index) => (index % 2 === 1 && isMatch(run, words) ? `<mark>${escapeHtml(run)}</mark>` : escapeHtml(run)))
    .join('');

const excerptLength = 180;

/** The text around the first word of the query. */
const excerptOf = (text: string, words: readonly string[]): string => {
  const lower = text.toLowerCase();
  const places = words.map((word) => lower.indexOf(word)).filter((place) => place !== -1);
  const first = places.length === 0 ? 0 : Math.min(...places);
  const from = first < 60 ? 0 : text.indexOf(' ', first - 60) + 1;
  const end = from + excerptLength;
  const part = text.slice(from, end);
  return `${from > 0 ? '… ' : ''}${end < text.length ? `${part.slice(0, Math.max(part.lastIndexOf(' '), 1))} …` : part}`;
};
