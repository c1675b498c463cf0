/** Anchors of headings in the way of GitHub, so that links between READMEs hold there and here. */

/** A heading with a text that came before gets a number: `added`, `added-1`. */
export const createSlugs = (): ((text: string) => string) => {
  const used = new Map<string, number>();
  return (text) => {
    const slug = slugOf(text);
    const times = used.get(slug) ?? 0;
    used.set(slug, times + 1);
    return times === 0 ? slug : `${slug}-${times}`;
  };
};

/** Of a heading in Markdown: its words in lower case, joined by hyphens. */
export const slugOf = (text: string): string =>
  text
    .replaceAll(/\[([^[\]]*)\]\([^()]*\)/g, '$1')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-');
