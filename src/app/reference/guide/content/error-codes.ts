/** `{{errors}}`: one anchor per error code, the target of `error_uri` and of a problem's `type` (interface 4.3, 6). */
import { faultCodes, faultStatus, faultTitle } from '#src/contract/fault.ts';
import { detailTexts, faultTexts, oauthTexts } from '../../document/error-texts.ts';

type Entry = { code: string; status: string; title: string; meaning: string };

const faults: readonly Entry[] = faultCodes.map((code) => ({
  code,
  status: code === 'PRODUCT_NOT_FOUND' ? '404, 422' : String(faultStatus(code)),
  title: faultTitle(code),
  meaning: faultTexts[code],
}));

const oauth: readonly Entry[] = Object.entries(oauthTexts).map(([code, [status, title, meaning]]) => ({
  code,
  status,
  title,
  meaning,
}));

const section = ({ code, status, title, meaning }: Entry): string => `#### \`${code}\` {#${code}}

**${title}** · status ${status}

${meaning}
`;

const contents = (entries: readonly Entry[]): string =>
  entries.map(({ code }) => `- [\`${code}\`](#${code})`).join('\n');

const group = (title: string, entries: readonly Entry[]): string => `### ${title}

${contents(entries)}

${entries.map(section).join('\n')}`;

export const errorCodes = (): string => `${group('Codes of the interface', faults)}
${group('OAuth errors', oauth)}
### Detail codes

In \`errors[]\`, each entry points to one value. The value:

| Code | Meaning |
| --- | --- |
${Object.entries(detailTexts)
  .map(([code, words]) => `| \`${code}\` | ${words.replaceAll('|', '\\|')} |`)
  .join('\n')}
`;
