/** A page of the guide as Markdown, before it is rendered. */

export type Area = 'integrate' | 'operate' | 'secure';

export type GuidePage = {
  /** Its address, such as /docs/orders. The Markdown is at the same address with `.md`. */
  path: string;
  area: Area;
  title: string;
  /** One or two sentences for the navigation, the description of the page and llms.txt. */
  summary: string;
  /** With all includes. */
  markdown: () => string;
  /** The file that it comes from, relative to the root, if it shows a document of the repository. */
  file?: string;
};
