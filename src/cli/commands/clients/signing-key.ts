import type { Command } from 'commander';
import type { Output } from '../../terminal/output.ts';
import { withAdmin } from '../../terminal/with-admin.ts';

export const signingKeyCommands = (program: Command, output: Output): void => {
  const group = program.command('signing-key').description('keys that sign access tokens');
  group
    .command('rotate')
    .description('make a new key: listed now, signing in ten minutes; tokens of the old one stay good until they end')
    .action(async (_options: unknown, command: Command) => {
      output.result({ ...(await withAdmin(command, (admin) => admin.rotateSigningKey())) });
    });
};
