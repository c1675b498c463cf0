/** Commands on the issuers that an API client trusts instead of keeping a secret (interface 28). */
import type { Command } from 'commander';
import type { Output } from '../../terminal/output.ts';
import { toWire } from '../../terminal/to-wire.ts';
import { withAdmin } from '../../terminal/with-admin.ts';

type TrustOptions = {
  clientId: string;
  issuer: string;
  subject: string;
  audience: string;
  jwksUri?: string;
  reusable?: boolean;
};

export const clientTrustCommands = (group: Command, output: Output): void => {
  group
    .command('trust')
    .description(
      'let tokens of an issuer authenticate the client, such as those of Kubernetes, GitHub Actions or SPIFFE',
    )
    .requiredOption('--client-id <id>', 'the client')
    .requiredOption('--issuer <url>', 'issuer of the tokens (`iss`), exactly as they name it')
    .requiredOption('--subject <text>', 'subject of the tokens (`sub`), compared as a whole')
    .requiredOption(
      '--audience <text>',
      'the only audience of the tokens (`aud`); the public address of this server is a good one',
    )
    .option('--jwks-uri <url>', 'address of the keys of the issuer (default: by discovery)')
    .option(
      '--reusable',
      'a token with a `jti` may be used until it expires, for tokens that a program reads from a file',
    )
    .action(async (options: TrustOptions, command: Command) => {
      const { clientId, issuer, subject, audience, jwksUri, reusable } = options;
      const trust = { clientId, issuer, subject, audience, jwksUri, reusable };
      output.result(toWire(await withAdmin(command, (admin) => admin.credentials.addTrust(trust))));
    });
  group
    .command('trusts')
    .description('what a client trusts, with its use')
    .requiredOption('--client-id <id>', 'the client')
    .action(async ({ clientId }: { clientId: string }, command: Command) => {
      const { trusts } = await withAdmin(command, (admin) => admin.credentials.showClient(clientId));
      output.list('trusts', trusts.map(toWire));
    });
  group
    .command('untrust')
    .description('end a trust; tokens that were issued for it stay valid until they expire')
    .requiredOption('--client-id <id>', 'the client')
    .requiredOption('--trust-id <id>', 'the trust (`client trusts` lists them)')
    .action(async (options: { clientId: string; trustId: string }, command: Command) => {
      const { clientId, trustId } = options;
      await withAdmin(command, (admin) => admin.credentials.removeTrust(clientId, trustId));
      output.result({ client_id: clientId, trust_id: trustId, removed: true });
    });
};
