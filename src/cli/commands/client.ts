import type { Command } from 'commander';
import type { Output } from '../output.ts';
import { withAdmin } from '../with-admin.ts';

type CreateOptions = { name: string; restaurant: string[]; scope?: string };

const append = (value: string, earlier: string[] | undefined): string[] => [...(earlier ?? []), value];

export const clientCommands = (program: Command, output: Output): void => {
  const group = program.command('client').description('API clients');
  group
    .command('create')
    .description('create an API client; its secret is shown once')
    .requiredOption('--name <name>', 'who the client is')
    .requiredOption('--restaurant <restuid...>', 'restaurants that it may reach; give it once per restaurant', append)
    .option('--scope <scopes>', 'space-separated scopes (default all)')
    .action(async (options: CreateOptions, command: Command) => {
      const scopes = options.scope?.split(/\s+/).filter((scope) => scope !== '');
      const made = await withAdmin(command, (admin) =>
        admin.createClient({
          name: options.name,
          tenants: options.restaurant,
          ...(scopes === undefined || scopes.length === 0 ? undefined : { scopes }),
        }),
      );
      output.result({ client_id: made.client_id, client_secret: made.client_secret }, 'The secret is shown only now.');
    });
  group
    .command('disable')
    .description('disable an API client; its headers and tokens are refused within a second')
    .requiredOption('--client-id <id>', 'the client')
    .action(async (options: { clientId: string }, command: Command) => {
      await withAdmin(command, (admin) => admin.disableClient(options.clientId));
      output.result({ client_id: options.clientId, disabled: true });
    });
};
