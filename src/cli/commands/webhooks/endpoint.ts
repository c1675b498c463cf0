import type { Command } from 'commander';
import type { Output } from '../../terminal/output.ts';
import { withAdmin } from '../../terminal/with-admin.ts';

export const endpointCommands = (program: Command, output: Output): void => {
  const group = program.command('endpoint').description('webhook endpoints');
  group
    .command('create')
    .description('create a webhook endpoint; its secret is shown once')
    .requiredOption('--restaurant <restuid>', 'restaurant whose events it receives')
    .requiredOption('--url <url>', 'https address that receives the POST requests')
    .option('--kinds <kinds>', 'comma-separated: customers, orders, loyaltylog, menu (default all)')
    .action(async (options: { restaurant: string; url: string; kinds?: string }, command: Command) => {
      const kinds = options.kinds
        ?.split(',')
        .map((kind) => kind.trim())
        .filter((kind) => kind !== '');
      const made = await withAdmin(command, (admin) =>
        admin.createEndpoint({
          tenant: options.restaurant,
          url: options.url,
          ...(kinds === undefined ? undefined : { kinds }),
        }),
      );
      output.result(
        { endpoint_uid: made.endpointUid, secret: made.secret },
        'The secret is shown only now. To record events, switch their kind on: orderpass notifications set',
      );
    });
};
