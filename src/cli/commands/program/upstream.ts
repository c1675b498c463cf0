import type { Command } from 'commander';
import type { Output } from '../../terminal/output.ts';
import { withAdmin } from '../../terminal/with-admin.ts';

export const upstreamCommands = (program: Command, output: Output): void => {
  const group = program.command('upstream').description('services behind the gateway');
  group
    .command('key <name>')
    .description('the secret with which a service of identity `assertion` verifies who calls; no other service has it')
    .action(async (name: string, _options: unknown, command: Command) => {
      const key = await withAdmin(command, async (admin) => admin.upstreamKey(name));
      output.result({ upstream: name, key });
    });
};
