import type { Command } from 'commander';
import { settingsProblems, settingsWarnings } from '#src/app/settings/check-settings.ts';
import { maskedSettings, processSettingsSource, SettingsError } from '#src/app/settings/config.ts';
import { settingsTable } from '#src/app/settings/settings-table.ts';
import type { Output } from '../../terminal/output.ts';
import { configFileOf } from '../../terminal/with-admin.ts';

export const configCommands = (program: Command, output: Output): void => {
  const group = program.command('config').description('settings');
  group
    .command('check')
    .description('check every setting and the files that settings name, like a start; reports all problems at once')
    .action((_options: unknown, command: Command) => {
      const source = processSettingsSource(configFileOf(command));
      const problems = [...settingsProblems(source), ...settingsWarnings(source)];
      if (problems.length > 0) throw new SettingsError(problems);
      output.result({ valid: true });
    });
  group
    .command('print')
    .description('print the effective settings with secrets masked, even when they are invalid')
    .action((_options: unknown, command: Command) => {
      output.result(maskedSettings(processSettingsSource(configFileOf(command))));
    });
  group
    .command('table')
    .description('print every setting as a Markdown table (the one in config/README.md)')
    .action(() => {
      if (output.json) output.result({ table: settingsTable() });
      else output.line(settingsTable());
    });
};
