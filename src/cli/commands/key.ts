import type { Command } from 'commander';
import type { Output } from '../output.ts';
import { withAdmin } from '../with-admin.ts';

export const keyCommands = (program: Command, output: Output): void => {
  const group = program.command('key').description('API keys of a restaurant');
  group
    .command('create')
    .description('create an API key; it is shown once')
    .requiredOption('--restaurant <restuid>', 'restaurant that the key belongs to')
    .option('--name <name>', 'what the key is for', 'API key')
    .action(async (options: { restaurant: string; name: string }, command: Command) => {
      const made = await withAdmin(command, (admin) =>
        admin.createKey({ tenant: options.restaurant, name: options.name }),
      );
      output.result({ api_key: made.api_key, key_id: made.key_id }, 'The key is shown only now.');
    });
  group
    .command('revoke')
    .description('revoke an API key; every gateway refuses it within a second')
    .requiredOption('--key-id <id>', 'id of the key, as shown when it was made')
    .action(async (options: { keyId: string }, command: Command) => {
      await withAdmin(command, (admin) => admin.revokeKey(options.keyId));
      output.result({ key_id: options.keyId, revoked: true });
    });
};
