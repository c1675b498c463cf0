/** JSON for reading, whose objects and lists fold. Only white space is added between the tokens, which stay as they are. */
import { type Html, html } from '../page/html.ts';
import { indentJson, jsonTokens } from './indent-json.ts';

/** chosen: a deeper or larger text is shown without folding, because each fold is an element of the page. */
const depthMax = 20;
const foldsMax = 2_000;
/** Objects and lists below this depth are folded at first. */
const openDepth = 2;

type Shown = { id: string; label: string };

export const foldedJson = (text: string, { id, label }: Shown): Html => {
  const tokens = jsonTokens(text);
  if (!isFoldable(tokens)) return html`<pre tabindex="0" id="${id}">${indentJson(text)}</pre>`;
  return html`<div class="json mono" tabindex="0" role="group" aria-label="${label}" id="${id}">${linesOf(tokens)}</div>`;
};

const isFoldable = (tokens: readonly string[]): boolean => {
  let [depth, deepest, folds] = [0, 0, 0];
  for (const token of tokens) {
    if (token === '{' || token === '[') {
      depth += 1;
      folds += 1;
    } else if (token === '}' || token === ']') depth -= 1;
    if (depth < 0) return false;
    deepest = Math.max(deepest, depth);
  }
  return depth === 0 && deepest <= depthMax && folds <= foldsMax;
};

/** An object or list that is being read: the line that opens it, and the lines in it so far. */
type Fold = { head: string; lines: Html[] };

const linesOf = (tokens: readonly string[]): Html => {
  const folds: Fold[] = [{ head: '', lines: [] }];
  let line = '';
  const indent = (): string => '  '.repeat(folds.length - 1);
  const endLine = (): void => {
    if (line !== '') folds.at(-1)?.lines.push(html`<div>${indent()}${line}</div>`);
    line = '';
  };
  tokens.forEach((token, index) => {
    const [before, after] = [tokens[index - 1], tokens[index + 1]];
    if ((token === '{' || token === '[') && after !== '}' && after !== ']') {
      folds.push({ head: `${indent()}${line}${token}`, lines: [] });
      line = '';
    } else if ((token === '}' || token === ']') && before !== '{' && before !== '[') {
      endLine();
      const fold = folds.pop();
      const end = html`<div>${indent()}${token}${after === ',' && ','}</div>`;
      if (fold !== undefined) folds.at(-1)?.lines.push(foldOf(fold, folds.length <= openDepth, end));
    } else if (token === ',') {
      // The comma of an object or list is in its last line.
      if (line !== '') line += token;
      endLine();
    } else line += token === ':' ? ': ' : token;
  });
  endLine();
  return html`${folds[0]?.lines}`;
};

const foldOf = ({ head, lines }: Fold, isOpen: boolean, end: Html): Html =>
  html`<details${isOpen && html` open`}><summary>${head}</summary>${lines}${end}</details>`;
