/** The first sample of a client's README, with the credential of a restaurant in place of its placeholders. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../support/program.ts';

/** `client`: a folder of src/clients. `fence`: the language of the code block. Throws when a placeholder is missing. */
export const readmeSample = (client: string, fence: string, variables: Readonly<Record<string, unknown>>): string => {
  const readme = readFileSync(join(root, 'src/clients', client, 'README.md'), 'utf8');
  const [, sample = ''] = readme.split(`\n\`\`\`${fence}\n`)[1]?.match(/^([^`]*)\n```/) ?? [];
  const placeholders = { 'https://api.example': 'url', 'opc_…': 'clientId', 'ops_…': 'clientSecret' } as const;
  return Object.entries(placeholders).reduce((text, [placeholder, name]) => {
    if (!text.includes(placeholder)) throw new Error(`the sample of ${client} has no ${placeholder}`);
    return text.replaceAll(placeholder, String(variables[name]));
  }, sample);
};
