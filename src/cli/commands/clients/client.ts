import { type Command, Option } from 'commander';
import { type Output, UsageError } from '../../terminal/output.ts';
import { withAdmin } from '../../terminal/with-admin.ts';
import { clientCertificateCommands, givenName, nameOptions } from './client-certificates.ts';
import { clientSecretCommands } from './client-secrets.ts';
import { clientStateCommands } from './client-states.ts';
import { clientTrustCommands } from './client-trusts.ts';
import { limitCommands, networks } from './limits.ts';
import { clientSignalsCommand } from './signals.ts';

type CreateOptions = {
  name: string;
  restaurant: string[];
  scope?: string;
  introspect?: boolean;
  dpop?: 'required';
  allowIp?: string[];
  tlsSubject?: string;
  tlsSan?: string;
};

const append = (value: string, earlier: string[] | undefined): string[] => [...(earlier ?? []), value];

export const clientCommands = (program: Command, output: Output): void => {
  const group = program.command('client').description('API clients');
  addCreate(group, output);
  group
    .command('disable')
    .description('disable an API client; its headers and tokens are refused within a second')
    .requiredOption('--client-id <id>', 'the client')
    .action(async (options: { clientId: string }, command: Command) => {
      await withAdmin(command, (admin) => admin.disableClient(options.clientId));
      output.result({ client_id: options.clientId, disabled: true });
    });
  clientSecretCommands(group, output);
  clientCertificateCommands(group, output);
  clientTrustCommands(group, output);
  clientStateCommands(group, output);
  limitCommands(group, output, 'client');
  clientSignalsCommand(group, output);
};

const addCreate = (group: Command, output: Output): void => {
  const create = group
    .command('create')
    .description('create an API client; its secret is shown once')
    .requiredOption('--name <name>', 'name of the client')
    .requiredOption(
      '--restaurant <restuid...>',
      'restaurant that the client may access; repeat the option for several',
      append,
    )
    .option('--scope <scopes>', 'space-separated scopes (default all)')
    .option('--introspect', 'the client may introspect the tokens of all clients (RFC 7662)')
    .addOption(
      new Option('--dpop <when>', 'tokens of the client must be bound to its key (RFC 9449)').choices(['required']),
    )
    .option(
      '--allow-ip <cidr...>',
      'address or network that the client may be used from; repeat it for several',
      networks,
    );
  nameOptions(create).action(async (options: CreateOptions, command: Command) => {
    const scopes = options.scope?.split(/\s+/).filter((scope) => scope !== '');
    // An empty value may be an unset variable of a script, and must not give every right.
    if (scopes?.length === 0) throw new UsageError('--scope names at least one scope; leave it out for all');
    const client = {
      name: options.name,
      tenants: options.restaurant,
      ...(options.introspect === true ? { mayIntrospect: true } : undefined),
      ...(options.dpop === 'required' ? { dpopRequired: true } : undefined),
      ...(options.allowIp === undefined ? undefined : { allowIp: options.allowIp }),
      ...(scopes === undefined ? undefined : { scopes }),
    };
    const name = givenName(options);
    if (name !== undefined) {
      const { clientId } = await withAdmin(command, (admin) => admin.credentials.createCertificateClient(client, name));
      return output.result({ client_id: clientId }, 'The client has no secret: it proves itself by its certificate.');
    }
    const made = await withAdmin(command, (admin) => admin.createClient(client));
    output.result({ client_id: made.clientId, client_secret: made.secret }, 'The secret is shown only now.');
  });
};
