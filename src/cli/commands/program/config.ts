import type { Command } from 'commander';
import type { showServedTables } from '#src/app/admin/reload-routes.ts';
import { SettingsError } from '#src/app/settings/settings-error.ts';
import { processSettingsSource, type SettingsSource } from '#src/app/settings/settings-source.ts';
import { createLog } from '#src/platform/log.ts';
import { configFileOf, settingsAndLogOf } from '../../terminal/command-settings.ts';
import { type Output, UsageError } from '../../terminal/output.ts';
import { toWire } from '../../terminal/to-wire.ts';

export const configCommands = (program: Command, output: Output): void => {
  const group = program.command('config').description('settings');
  group
    .command('check')
    .description(
      'check every setting and the files that settings name, like a start, and whether a pooler of the database keeps sessions; reports all problems at once',
    )
    .action(async (_options: unknown, command: Command) => {
      const problems = await problemsOf(processSettingsSource(configFileOf(command)));
      if (problems.length > 0) throw new SettingsError(problems);
      output.result({ valid: true });
    });
  group
    .command('print')
    .description('print the effective settings with secrets masked, even when they are invalid')
    .action(async (_options: unknown, command: Command) => {
      const { maskedSettings } = await import('#src/app/settings/config.ts');
      output.result(maskedSettings(processSettingsSource(configFileOf(command))));
    });
  group
    .command('reload')
    .description('have every running gateway read its route table again, and show which version each serves now')
    .option('--wait <seconds>', 'time for all gateways to answer, 1 to 300', waitSeconds, 15)
    .action(async ({ wait }: { wait: number }, command: Command) => {
      const { reloadRoutes } = await import('#src/app/admin/reload-routes.ts');
      const { gateways, silent } = await reloadRoutes(...(await settingsAndLogOf(command)), wait * 1000);
      if (output.json) output.result({ gateways: gateways.map(toWire), silent });
      else showGateways(output, gateways);
      for (const gateway of silent) output.error(`${gateway} has not answered within ${wait} s`);
      if (silent.length > 0 || gateways.some(({ result }) => result === 'refused')) output.fail();
    });
  group
    .command('status')
    .description(
      'show which version of its route table each running gateway serves, why it refuses its file, and which gateways ended without a stop within the last minute',
    )
    .action(async (_options: unknown, command: Command) => {
      const { showServedTables } = await import('#src/app/admin/reload-routes.ts');
      const gateways = await showServedTables(...(await settingsAndLogOf(command)));
      if (output.json) output.result({ gateways: gateways.map(toWire) });
      else showGateways(output, gateways);
    });
  group
    .command('table')
    .description('print every setting as a Markdown table (the one in config/README.md)')
    .action(async () => {
      const { settingsTable } = await import('#src/app/settings/settings-table.ts');
      if (output.json) output.result({ table: settingsTable() });
      else output.line(settingsTable());
    });
};

const problemsOf = async (source: SettingsSource) => {
  const { settingsProblems, settingsWarnings } = await import('#src/app/settings/check-settings.ts');
  const problems = [...settingsProblems(source), ...settingsWarnings(source)];
  if (problems.length > 0) return problems;
  const { loadSettings } = await import('#src/app/settings/config.ts');
  const { sessionProblems } = await import('#src/app/installation/own-store.ts');
  // Its problems are reported by the command, and a database that is down is none of them.
  return sessionProblems(loadSettings(source), createLog({ level: 'silent', role: 'command' }));
};

const waitSeconds = (text: string): number => {
  const seconds = Number(text);
  if (!/^\d+$/.test(text) || seconds < 1 || seconds > 300) throw new UsageError('--wait is 1 to 300 seconds');
  return seconds;
};

/** A running gateway is seen every 4 s, unless the database is slow. */
const unseenSeconds = 8;

const showGateways = (output: Output, gateways: Awaited<ReturnType<typeof showServedTables>>): void => {
  if (gateways.length === 0) output.line('No gateway is running.');
  for (const { gateway, version, result, problems, seenSecondsAgo } of gateways) {
    if (seenSecondsAgo >= unseenSeconds) {
      output.line(
        `${gateway}  has ended or does not answer: it was last seen ${seenSecondsAgo} s ago and served ${version}`,
      );
      continue;
    }
    output.line(`${gateway}  serves ${version}${result === 'refused' ? ', and refuses its file:' : ''}`);
    for (const problem of problems) output.line(`  ${problem}`);
  }
};
