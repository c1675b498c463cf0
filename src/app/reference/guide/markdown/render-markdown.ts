/**
 * Markdown of this repository as HTML of a page (marked, GitHub flavour): anchors on headings, tabs for consecutive code blocks
 * with a title, and boxes that scroll for tables and code. HTML inside the Markdown is shown as text.
 */
import { getDefaults, Lexer, Parser, Renderer, type Token, type Tokens } from 'marked';
import { escapeHtml } from './escape-html.ts';
import { createSlugs } from './slugs.ts';

export type Heading = { depth: number; id: string; html: string };

export type Rendered = { html: string; headings: readonly Heading[] };

export type RenderOptions = {
  /** The address of a link as it stands in the Markdown; undefined: the text is shown without a link. */
  linkOf?: (href: string) => string | undefined;
  /** The page that a code span such as `config/README.md` names. */
  pageOf?: (code: string) => string | undefined;
};

export const renderMarkdown = (markdown: string, options: RenderOptions = {}): Rendered => {
  const headings: Heading[] = [];
  const slugs = createSlugs();
  const settings = { ...getDefaults(), renderer: createRenderer(headings, slugs, options) };
  const tokens = new Lexer(settings).lex(markdown);
  const html = groupTabs(tokens)
    .map((group, index) => ('tabs' in group ? tabsOf(group.tabs, index) : Parser.parse([...group.tokens], settings)))
    .join('');
  return { html, headings };
};

const createRenderer = (headings: Heading[], slugs: (text: string) => string, options: RenderOptions): Renderer => {
  const renderer = new Renderer();
  renderer.heading = ({ tokens, depth, text }) => {
    const { id: named, rest } = splitId(text);
    const html = renderer.parser.parseInline(named === undefined ? tokens : withoutId(tokens));
    const id = named ?? slugs(rest);
    if (depth === 1) return `<h1>${html}</h1>\n`;
    headings.push({ depth, id, html: html.replaceAll(/<\/?a\b[^<>]*>/g, '') });
    return `<h${depth} id="${escapeHtml(id)}" tabindex="-1">${html} <a class="anchor" href="#${escapeHtml(id)}" aria-label="Link to this section">#</a></h${depth}>\n`;
  };
  renderer.link = ({ href, title, tokens }) => {
    const text = renderer.parser.parseInline(tokens);
    const target = options.linkOf === undefined ? href : options.linkOf(href);
    if (target === undefined || !/^(https?:|mailto:|\/|#)/.test(target)) return text;
    const named = title ? ` title="${escapeHtml(title)}"` : '';
    return `<a href="${escapeHtml(target)}"${named}>${text}</a>`;
  };
  // The pages load nothing from other hosts, and the documents have no images.
  renderer.image = ({ text }) => escapeHtml(text);
  renderer.html = ({ text }) => escapeHtml(text);
  renderer.codespan = ({ text }) => {
    const code = `<code>${escapeHtml(text)}</code>`;
    const page = options.pageOf?.(text);
    return page === undefined ? code : `<a href="${escapeHtml(page)}">${code}</a>`;
  };
  renderer.code = ({ text, lang }) => codeBox(text, infoOf(lang));
  const { table } = renderer;
  renderer.table = (token) => `<div class="scroll" tabindex="0">${table.call(renderer, token)}</div>\n`;
  return renderer;
};

/** `## Heading {#id}` names the anchor, where the address of it must not follow the words. */
const idAtEnd = / \{#([\w.-]{1,100})\}$/;

const splitId = (text: string): { id: string | undefined; rest: string } => {
  const found = idAtEnd.exec(text);
  return { id: found?.[1], rest: text.replace(idAtEnd, '') };
};

const withoutId = (tokens: readonly Token[]): Token[] =>
  tokens.map((token, index) => {
    if (index !== tokens.length - 1 || token.type !== 'text') return token;
    const text = token.text.replace(idAtEnd, '');
    return { ...token, raw: text, text };
  });

/** Markdown without the names of anchors, for readers of the text. */
export const withoutIds = (markdown: string): string => markdown.replaceAll(/ \{#[\w.-]{1,100}\}$/gm, '');

type Info = { language: string; title: string | undefined };

const infoOf = (lang: string | undefined): Info => ({
  language: /^[\w+-]+/.exec(lang ?? '')?.[0] ?? 'text',
  title: /\btitle="([^"]+)"/.exec(lang ?? '')?.[1],
});

const codeBox = (text: string, { language, title }: Info): string =>
  `<div class="code">${title === undefined ? '' : `<p class="code-title">${escapeHtml(title)}</p>`}` +
  `<pre tabindex="0"><code class="language-${language}">${escapeHtml(text.trimEnd())}</code></pre></div>\n`;

type Group = { tokens: readonly Token[] } | { tabs: readonly Tokens.Code[] };

const isTitledCode = (token: Token | undefined): token is Tokens.Code =>
  token?.type === 'code' && infoOf(token.lang).title !== undefined;

/** Two or more titled code blocks in a row are one group of tabs. */
const groupTabs = (tokens: readonly Token[]): Group[] => {
  const groups: Group[] = [];
  let plain: Token[] = [];
  let at = 0;
  while (at < tokens.length) {
    const run = titledRun(tokens, at);
    if (run.tabs.length < 2) {
      const token = tokens[at];
      if (token !== undefined) plain.push(token);
      at += 1;
      continue;
    }
    groups.push({ tokens: plain }, { tabs: run.tabs });
    plain = [];
    at = run.end;
  }
  return [...groups, { tokens: plain }];
};

const titledRun = (tokens: readonly Token[], start: number): { tabs: Tokens.Code[]; end: number } => {
  const tabs: Tokens.Code[] = [];
  let end = start;
  for (let at = start; at < tokens.length; at += 1) {
    const token = tokens[at];
    if (token?.type === 'space') continue;
    if (!isTitledCode(token)) break;
    tabs.push(token);
    end = at + 1;
  }
  return { tabs, end };
};

/** Radio buttons and a style sheet: arrow keys change the tab, and no script is needed. Printed pages show all of them. */
const tabsOf = (tabs: readonly Tokens.Code[], group: number): string => {
  const named = tabs.map(({ text, lang }, index) => ({ text, ...infoOf(lang), id: `tab-${group}-${index}` }));
  const buttons = named.map(
    ({ id, title = '' }, index) =>
      `<input type="radio" name="tab-${group}" id="${id}"${index === 0 ? ' checked' : ''}><label for="${id}">${escapeHtml(title)}</label>`,
  );
  const panels = named.map(
    ({ text, language, title = '' }) =>
      `<div class="tab"><p class="tab-title">${escapeHtml(title)}</p>${codeBox(text, { language, title: undefined })}</div>`,
  );
  return `<fieldset class="tabs"><legend>Language</legend>${buttons.join('')}<div class="tab-panels">${panels.join('')}</div></fieldset>\n`;
};
