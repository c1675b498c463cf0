import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { type Output, UsageError } from '../../terminal/output.ts';
import { toWire } from '../../terminal/to-wire.ts';
import { withAdmin } from '../../terminal/with-admin.ts';
import { addGetToken } from '../remote/remote.ts';

export const tokenCommands = (program: Command, output: Output): void => {
  const group = program.command('token').description('access tokens');
  addGetToken(group, output);
  group
    .command('revoke')
    .description('revoke the access token on standard input; every gateway refuses it within a second')
    .action(async (_options: unknown, command: Command) => {
      // Read from stdin: arguments are visible in the shell history and in the list of processes.
      const token = (await text(process.stdin)).trim();
      if (token === '') throw new UsageError('Give the token on standard input: … | orderpass token revoke');
      output.result(toWire(await withAdmin(command, (admin) => admin.revokeToken(token))));
    });
};
