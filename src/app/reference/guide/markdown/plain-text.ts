/** Words of a page without its marks, for summaries and the search. */

const entities: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&amp;': '&',
};

/** HTML that `renderMarkdown` made, as text. */
export const textOfHtml = (html: string): string =>
  html
    .replaceAll(/<a class="anchor"[^>]*>#<\/a>/g, '')
    .replaceAll(/<[^<>]*>/g, ' ')
    .replaceAll(/&(?:lt|gt|quot|#39|amp);/g, (entity) => entities[entity] ?? entity)
    .replaceAll(/\s+/g, ' ')
    .trim();

export type Head = { title: string; summary: string };

const summaryLengthMax = 300;

/** The title is the first heading, and the summary the first paragraph after it; where there is none, the first words. */
export const headOf = (markdown: string): Head => {
  const [first = '', ...rest] = markdown.trim().split(/\n{2,}/);
  const title = first.replace(/^# /, '').split('\n')[0] ?? '';
  const isPlain = (block: string): boolean => !/^(#|\||```|[-*] |\d+\. |\{\{|<)/.test(block);
  const block = rest.find(isPlain) ?? rest[0] ?? title;
  return { title: withoutMarks(title), summary: shorten(withoutMarks(block)) };
};

/** Inline Markdown as text. */
const withoutMarks = (text: string): string =>
  text
    .replaceAll(/\[([^[\]]*)\]\([^()]*\)/g, '$1')
    .replaceAll(/`|\*\*/g, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/^(?:#+|[-*]|\d+\.) /g, '')
    .trim();

/** The whole sentences that fit, or else the whole words. */
const shorten = (text: string): string => {
  if (text.length <= summaryLengthMax) return text;
  const start = text.slice(0, summaryLengthMax);
  const end = start.lastIndexOf('. ');
  return end > 60 ? start.slice(0, end + 1) : `${start.slice(0, start.lastIndexOf(' '))} …`;
};
