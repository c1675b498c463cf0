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
    .option('--now', 'the new key signs at once; earlier keys end with all their tokens, as after a leak')
    .action(async ({ now }: { now?: true }, command: Command) => {
      const rotated = await withAdmin(command, (admin) =>
        now === true ? admin.replaceSigningKeys() : admin.rotateSigningKey(),
      );
      output.result(toWire(rotated));
    });
};
