/** Commands that make endpoints and change their settings; `webhook …` shows and tests them. */
import { type Command, Option } from 'commander';
import { type SignatureScheme, signatureSchemes } from '#src/app/admin/terms.ts';
import { type Output, UsageError } from '../../terminal/output.ts';
import { withAdmin } from '../../terminal/with-admin.ts';
import { callWebhook, onEndpoint } from './call-webhook.ts';
import { authCommand } from './endpoint-auth.ts';

export const endpointCommands = (program: Command, output: Output): void => {
  const group = program.command('endpoint').description('webhook endpoints');
  createCommand(group, output);
  updateCommand(group, output);
  authCommand(group, output);
};

const signatureOption = (more: readonly string[]): Option =>
  new Option('--signature <scheme>', 'sign deliveries as HTTP messages too (RFC 9421)').choices([
    ...signatureSchemes,
    ...more,
  ]);

const v1aOption = (more = ''): Option =>
  new Option('--v1a <on|off>', `on: webhook-signature has the Ed25519 signature v1a beside v1${more}`).choices([
    'on',
    'off',
  ]);

type Switch = 'on' | 'off';

const createCommand = (group: Command, output: Output): void => {
  group
    .command('create')
    .description('create a webhook endpoint; its secret is shown once')
    .requiredOption('--restaurant <restuid>', 'restaurant whose events it receives')
    .requiredOption('--url <url>', 'https address that receives the POST requests')
    .option('--kinds <kinds>', 'comma-separated: customers, orders, loyaltylog, menu (default all)')
    .addOption(signatureOption([]))
    .addOption(v1aOption(' (default on, and off with --signature)'))
    .action(
      async (
        options: { restaurant: string; url: string; kinds?: string; signature?: SignatureScheme; v1a?: Switch },
        command: Command,
      ) => {
        const kinds = options.kinds
          ?.split(',')
          .map((kind) => kind.trim())
          .filter((kind) => kind !== '');
        const made = await withAdmin(command, (admin) =>
          admin.createEndpoint({
            tenant: options.restaurant,
            url: options.url,
            ...(kinds === undefined ? undefined : { kinds }),
            ...(options.signature === undefined ? undefined : { signature: options.signature }),
            ...(options.v1a === undefined ? undefined : { v1a: options.v1a === 'on' }),
          }),
        );
        output.result(
          { endpoint_uid: made.endpointUid, secret: made.secret },
          'The secret is shown only now. To record events, switch their kind on: orderpass notifications set',
        );
      },
    );
};

const updateCommand = (group: Command, output: Output): void => {
  onEndpoint(group, 'update', 'change how the deliveries of an endpoint are signed')
    .addOption(signatureOption(['none']))
    .addOption(v1aOption())
    .action(
      async (options: { restaurant: string; endpoint: string; signature?: string; v1a?: Switch }, command: Command) => {
        const { restaurant, endpoint: uid, signature, v1a } = options;
        if (signature === undefined && v1a === undefined) throw new UsageError('Give --signature or --v1a, or both');
        const made = await callWebhook(command, restaurant, (webhooks) =>
          webhooks.updateEndpoint(restaurant, {
            uid,
            ...(signature === undefined ? undefined : { signature: signature === 'none' ? null : signature }),
            ...(v1a === undefined ? undefined : { v1a: v1a === 'on' }),
          }),
        );
        const { endpoint } = made;
        output.result(
          output.json ? made : { endpoint_uid: endpoint.uid, signature: endpoint.signature, v1a: endpoint.v1a },
        );
      },
    );
};
