import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { commandLine } from '#src/platform/files/release.ts';
import { settingsAndLogOf } from '../../terminal/command-settings.ts';
import { abortOnSignal, showProgress } from '../../terminal/long-command.ts';
import { type Output, UsageError } from '../../terminal/output.ts';

type Options = { to?: string; undo?: true };

const help = `
Stop the program first; commands that run meanwhile can only read. The schema is made by the
migrations, all rows are copied in one transaction and compared on both sides, and the target is
refused when it holds rows. A password is read from PGPASSWORD, or from standard input as part of
the address: echo "$URL" | ${commandLine} move --to -

Then start with DATABASE_URL set to the address and with the same master key: credentials, tokens
and webhook secrets go on working. The embedded store stays as it was, and is not started any more
unless --undo is given.`;

export const moveCommand = (program: Command, output: Output): void => {
  program
    .command('move')
    .description('move the data of the embedded store to an empty database of a PostgreSQL server')
    .option('--to <url>', 'postgresql://USER@HOST:PORT/DATABASE without a password, or - for standard input')
    .option('--undo', 'use the embedded store again, without what was written to the server')
    .addHelpText('after', help)
    .action(async (options: Options, command: Command) => {
      if ((options.to === undefined) === (options.undo === undefined))
        throw new UsageError('Give either --to or --undo');
      const { moveStore, undoMove } = await import('#src/app/move/move-store.ts');
      const [settings, log] = await settingsAndLogOf(command);
      if (options.to === undefined) return output.result({ undone: await undoMove(settings, log) });
      const to = await readAddress(options.to);
      const progress = showProgress(output);
      const moved = await moveStore(settings, log, {
        to,
        signal: abortOnSignal(),
        onPercent: progress.show,
      }).finally(progress.end);
      output.result(
        { moved_to: moved.to, tables: moved.tables, rows: moved.rows, sequences: moved.sequences },
        'Start with DATABASE_URL set to this address, and with the same master key.',
      );
    });
};

const readAddress = async (given: string): Promise<string> => {
  if (given === '-') return (await text(process.stdin)).trim();
  const { withoutPassword } = await import('#src/platform/db/database-address.ts');
  if (withoutPassword(given) !== given)
    throw new UsageError(
      'A password in an argument is visible to others: use PGPASSWORD, or --to - and standard input',
    );
  return given;
};
