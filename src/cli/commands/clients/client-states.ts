/** Commands on the scopes and the state of an API client. */
import { Argument, type Command, Option } from 'commander';
import { type Output, UsageError } from '../../terminal/output.ts';
import { timeWithOffset } from '../../terminal/to-time.ts';
import { withAdmin } from '../../terminal/with-admin.ts';

type ById = { clientId: string };

export const clientStateCommands = (group: Command, output: Output): void => {
  addStates(group, output);
  addGrants(group, output);
  group
    .command('dpop')
    .description(
      'set whether tokens of the client must be bound to its key (RFC 9449); if required, other tokens are refused within a second',
    )
    .requiredOption('--client-id <id>', 'the client')
    .addOption(
      new Option('--dpop <when>', 'required or optional').choices(['required', 'optional']).makeOptionMandatory(),
    )
    .action(async ({ clientId, dpop }: ById & { dpop: 'required' | 'optional' }, command: Command) => {
      await withAdmin(command, (admin) => admin.credentials.setClientDpopRequired(clientId, dpop === 'required'));
      output.result({ client_id: clientId, dpop });
    });
  group
    .command('fapi2')
    .description(
      'hold the client to the FAPI 2.0 Security Profile: its secrets and unbound tokens are refused within a second; off takes that back',
    )
    .addArgument(new Argument('<when>', 'required or off').choices(['required', 'off']))
    .argument('<client-id>', 'the client')
    .action(async (when: 'required' | 'off', clientId: string, _options: unknown, command: Command) => {
      await withAdmin(command, (admin) => admin.credentials.setClientFapi2Required(clientId, when === 'required'));
      output.result({ client_id: clientId, profile: when === 'required' ? 'fapi2' : 'standard' });
    });
  group
    .command('revoke-tokens')
    .description('refuse every token of the client that was issued before a time')
    .requiredOption('--client-id <id>', 'the client')
    .option('--before <time>', 'ISO 8601 with offset (default now)', (text: string) =>
      timeWithOffset('--before takes', text),
    )
    .action(async (options: ById & { before?: Date }, command: Command) => {
      const before = await withAdmin(command, ({ credentials }) =>
        credentials.revokeClientTokens(options.clientId, options.before),
      );
      output.result({ client_id: options.clientId, tokens_not_before: before.toISOString() });
    });
};

const addStates = (group: Command, output: Output): void => {
  for (const [name, description, state, why] of [
    [
      'quarantine',
      'refuse the client with 403 and a reason until it is reactivated',
      'quarantined',
      'the reason, which refused requests receive',
    ],
    ['reactivate', 'end the quarantine of a client', 'active', 'the reason, which is stored with the client'],
  ] as const) {
    group
      .command(name)
      .description(description)
      .requiredOption('--client-id <id>', 'the client')
      .requiredOption('--reason <text>', why)
      .action(async (options: ById & { reason: string }, command: Command) => {
        await withAdmin(command, ({ credentials }) => credentials[name]('client', options.clientId, options.reason));
        output.result({ client_id: options.clientId, state, reason: options.reason });
      });
  }
};

const addGrants = (group: Command, output: Output): void => {
  for (const [name, change, description] of [
    ['grant', 'grantTenant', 'let the client reach one more restaurant'],
    ['withdraw', 'withdrawTenant', 'take a restaurant from the client and its tokens'],
  ] as const) {
    group
      .command(name)
      .description(description)
      .requiredOption('--client-id <id>', 'the client')
      .requiredOption('--restaurant <restuid>', 'the restaurant')
      .action(async (options: ById & { restaurant: string }, command: Command) => {
        await withAdmin(command, ({ credentials }) => credentials[change](options.clientId, options.restaurant));
        output.result({ client_id: options.clientId, restaurant: options.restaurant, granted: name === 'grant' });
      });
  }
  group
    .command('scopes')
    .description('set the scopes of the client; its existing tokens lose the scopes that it loses')
    .requiredOption('--client-id <id>', 'the client')
    .requiredOption('--scope <scopes>', 'space-separated scopes, or "all"')
    .action(async (options: ById & { scope: string }, command: Command) => {
      const named = options.scope.split(/\s+/).filter((scope) => scope !== '');
      if (named.length === 0) throw new UsageError('--scope names at least one scope, or "all"');
      const scopes = named.length === 1 && named[0] === 'all' ? null : named;
      await withAdmin(command, ({ credentials }) => credentials.setClientScopes(options.clientId, scopes));
      output.result({ client_id: options.clientId, scopes });
    });
};
