/** Commands on the endpoints of a restaurant: the operations webhook/… of the interface. */
import { type Command, Option } from 'commander';
import { certificateEnds, type SignatureScheme, signatureSchemes } from '#src/app/admin/terms.ts';
import type { Output } from '../../terminal/output.ts';
import { toLine } from '../../terminal/output.ts';
import { toWire } from '../../terminal/to-wire.ts';
import { withAdmin } from '../../terminal/with-admin.ts';
import { callWebhook, type Item, nextTry, onEndpoint, pageNote } from './call-webhook.ts';
import { deliveryCommands } from './webhook-deliveries.ts';

export const webhookCommands = (program: Command, output: Output): void => {
  const group = program.command('webhook').description('webhook endpoints, deliveries and recorded events');
  listCommand(group, output);
  showCommand(group, output);
  testCommand(group, output);
  rotateCommand(group, output);
  rotateKeyCommand(group, output);
  stateCommands(group, output);
  deliveryCommands(group, output);
};

type OfEndpoint = { restaurant: string; endpoint: string };

const listCommand = (group: Command, output: Output): void => {
  group
    .command('list')
    .description('endpoints of a restaurant, newest first, and the enabled kinds of events')
    .requiredOption('--restaurant <restuid>', 'the restaurant')
    .option('--page <n>', 'page of 100')
    .option('--cursor <cursor>', 'the page after the one that returned this cursor')
    .action(
      async (
        { restaurant, page, cursor }: { restaurant: string; page?: string; cursor?: string },
        command: Command,
      ) => {
        const found = await callWebhook(command, restaurant, (webhooks) =>
          webhooks.listEndpoints(restaurant, { page, cursor }),
        );
        if (output.json) return output.result(found);
        for (const endpoint of found.endpoints) output.line(toLine(inShort(endpoint)));
        for (const endpoint of found.endpoints) warnOfCertificate(output, endpoint);
        const on = Object.entries(found.kinds_enabled).filter(([, isOn]) => isOn);
        output.line(`${pageNote(found)}; enabled kinds: ${on.map(([kind]) => kind).join(', ') || 'none'}`);
      },
    );
};

/** A line for a client certificate that ends within 30 days. */
const warnOfCertificate = (
  output: Output,
  { uid, auth }: { uid: string; auth: { expires_iso: string | null } | null },
): void => {
  const ends = certificateEnds(auth?.expires_iso, new Date());
  if (ends !== null)
    output.line(
      `warning: the client certificate of ${uid} ${ends === 'ended' ? 'ended' : 'ends'} at ${auth?.expires_iso}; \`endpoint auth\` sets a new one`,
    );
};

const inShort = (endpoint: Item): Item => ({
  uid: endpoint.uid,
  url: endpoint.url,
  kinds: endpoint.kinds,
  status: endpoint.status,
  reason: endpoint.disabled_reason,
  health: endpoint.health,
  next_attempt: nextTry(endpoint),
  description: endpoint.description,
});

const showCommand = (group: Command, output: Output): void => {
  onEndpoint(group, 'show', 'one endpoint: settings, state and health').action(
    async ({ restaurant, endpoint }: OfEndpoint, command: Command) => {
      const found = await callWebhook(command, restaurant, (webhooks) =>
        webhooks.readEndpoint(restaurant, { uid: endpoint }),
      );
      output.result(output.json ? found : found.endpoint);
    },
  );
};

const rotateKeyCommand = (group: Command, output: Output): void => {
  group
    .command('rotate-signing-key')
    .description('create a new key for v1a signatures: listed at /.well-known/webhook-keys now, signing a day later')
    .addOption(
      new Option(
        '--signature <scheme>',
        'a key for message signatures, listed at /.well-known/webhook-signature-keys',
      ).choices(signatureSchemes),
    )
    .action(async ({ signature }: { signature?: SignatureScheme }, command: Command) => {
      output.result(toWire(await withAdmin(command, (admin) => admin.rotateWebhookKey(signature))));
    });
};

const testCommand = (group: Command, output: Output): void => {
  onEndpoint(group, 'test', 'send the event webhook.test once, even to a disabled endpoint').action(
    async ({ restaurant, endpoint }: OfEndpoint, command: Command) => {
      const made = await callWebhook(command, restaurant, (webhooks) =>
        webhooks.testEndpoint(restaurant, { uid: endpoint }),
      );
      const attempt = made.attempt;
      output.result(output.json ? made : attempt);
      if (attempt.failure !== null) output.fail();
    },
  );
};

const rotateCommand = (group: Command, output: Output): void => {
  onEndpoint(
    group,
    'rotate-secret',
    'create a new secret, shown once; deliveries are signed with both secrets until the overlap ends',
  )
    .option('--overlap-hours <n>', '0 to 168 (default 24)')
    .option('--finish', 'create no secret; end the current overlap now')
    .action(
      async (
        { restaurant, endpoint, ...options }: OfEndpoint & { overlapHours?: string; finish?: boolean },
        command: Command,
      ) => {
        const made = await callWebhook(command, restaurant, (webhooks) =>
          webhooks.rotateSecret(restaurant, {
            uid: endpoint,
            overlap_hours: options.overlapHours,
            finish: options.finish,
          }),
        );
        if (output.json) return output.result(made);
        const { previous_secret_expires_iso: expires } = made.endpoint;
        if (made.secret === null) return output.line('Deliveries are now signed with the current secret only.');
        output.result(
          { secret: made.secret, previous_secret_expires: expires },
          'The secret is shown only now. Deliveries are signed with both until the old one expires.',
        );
      },
    );
};

const stateCommands = (group: Command, output: Output): void => {
  const shown = ({ uid, status }: Item): Item => ({ endpoint_uid: uid, status });
  for (const [name, enabled, description] of [
    ['enable', true, 'enable an endpoint again; `webhook redeliver` sends the events that it missed'],
    ['disable', false, 'disable an endpoint; its open deliveries are cancelled'],
  ] as const) {
    onEndpoint(group, name, description).action(async ({ restaurant, endpoint }: OfEndpoint, command: Command) => {
      const made = await callWebhook(command, restaurant, (webhooks) =>
        webhooks.updateEndpoint(restaurant, { uid: endpoint, enabled }),
      );
      output.result(output.json ? made : shown(made.endpoint));
    });
  }
  onEndpoint(group, 'remove', 'remove an endpoint; its open deliveries are cancelled').action(
    async ({ restaurant, endpoint }: OfEndpoint, command: Command) => {
      await callWebhook(command, restaurant, (webhooks) => webhooks.removeEndpoint(restaurant, { uid: endpoint }));
      output.result({ endpoint_uid: endpoint, removed: true });
    },
  );
};
