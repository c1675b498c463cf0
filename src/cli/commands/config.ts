import type { Command } from 'commander';
import { loadSettings, maskedSettings, processSettingsSource, settingsTable } from '#src/app/config.ts';
import type { Output } from '../output.ts';
import { configFileOf } from '../with-admin.ts';

export const configCommands = (program: Command, output: Output): void => {
  const group = program.command('config').description('settings');
  group
    .command('check')
    .description('check every setting; names all problems at once')
    .action((_options: unknown, command: Command) => {
      loadSettings(processSettingsSource(configFileOf(command)));
      output.result({ valid: true });
    });
  group
    .command('print')
    .description('print the settings that are in force, secrets masked; works on settings that are not valid too')
    .action((_options: unknown, command: Command) => {
      output.result(maskedSettings(processSettingsSource(configFileOf(command))));
    });
  group
    .command('table')
    .description('print every setting as a Markdown table (the one in the README)')
    .action(() => {
      if (output.json) output.result({ table: settingsTable() });
      else output.line(settingsTable());
    });
};
