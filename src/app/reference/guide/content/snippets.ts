/** `{{verify-snippets}}` and `{{caller-snippets}}`: code that tests run, one tab for each language. */
import { readdirSync, readFileSync } from 'node:fs';

const folder = new URL('../../snippets/', import.meta.url);

/** By ending, in the order of the tabs: the language for readers, and its name after the fence. */
const languages: Readonly<Record<string, readonly [title: string, fence: string]>> = {
  mjs: ['Node', 'js'],
  py: ['Python', 'python'],
  php: ['PHP', 'php'],
  go: ['Go', 'go'],
  rb: ['Ruby', 'ruby'],
  java: ['Java', 'java'],
  cs: ['C#', 'csharp'],
};

const endings = Object.keys(languages);
const placeOf = (file: string): number => endings.indexOf(endingOf(file));
const endingOf = (file: string): string => file.slice(file.lastIndexOf('.') + 1);

/** `kind`: a folder of `snippets`. `titles`: by ending, where the title says more than the language. */
export const snippetTabs = (kind: string, titles: Readonly<Record<string, string>> = {}): string =>
  readdirSync(new URL(`${kind}/`, folder))
    .filter((file) => placeOf(file) !== -1)
    .toSorted((a, b) => placeOf(a) - placeOf(b))
    .map((file) => {
      const [title = '', fence = ''] = languages[endingOf(file)] ?? [];
      return fenceOf(fence, titles[endingOf(file)] ?? title, readSnippet(`${kind}/${file}`));
    })
    .join('\n');

/** `file`: below `snippets`. */
export const readSnippet = (file: string): string => readFileSync(new URL(file, folder), 'utf8');

export const fenceOf = (language: string, title: string, code: string): string =>
  `\`\`\`${language} title="${title}"\n${code.trimEnd()}\n\`\`\`\n`;
