/** The settings as config/README.md shows them: a Markdown table. */
import { settingFields } from './config.ts';

export const settingsTable = (): string =>
  [
    '| Setting | Environment | Default | Meaning |',
    '| --- | --- | --- | --- |',
    ...settingFields().map(
      ({ path, env, defaultText, description }) =>
        `| \`${path}\` | ${env === undefined ? '' : `\`${env}\``} | ${defaultText === '' ? '' : `\`${defaultText}\``} | ${description.replaceAll('|', '\\|')} |`,
    ),
  ].join('\n');
