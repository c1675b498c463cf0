import type { Command } from 'commander';
import type { Output } from '../../terminal/output.ts';
import { toWire } from '../../terminal/to-wire.ts';
import { withAdmin } from '../../terminal/with-admin.ts';

export const signingKeyCommands = (program: Command, output: Output): void => {
  const group = program.command('signing-key').description('keys that sign access tokens');
  group
    .command('rotate')
    .description(
      'create a new key: listed now, signing in ten minutes; tokens signed with the old key stay valid until they expire',
    )
    .action(async (_options: unknown, command: Command) => {
      output.result(toWire(await withAdmin(command, (admin) => admin.rotateSigningKey())));
    });
};
