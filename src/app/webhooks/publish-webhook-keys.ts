/** The keys of webhooks where receivers look for them: at the gateway, which knows nothing of webhooks. */
import { pause, type Service } from '#src/platform/supervisor.ts';
import { createSigningKeys } from '#src/webhooks/index.ts';
import type { Installation } from '../installation/installation.ts';

const readEveryMs = 60_000;

/** Rejects while the store is away: a gateway does not start without them. */
export const publishWebhookKeys = async ({
  store,
  box,
  clock,
}: Installation): Promise<{ document: () => string; service: Service }> => {
  const keys = createSigningKeys({ db: store.db, box, clock });
  const write = async (): Promise<string> => JSON.stringify(await keys.publicJwks());
  let document = await write();
  const run = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      await pause(readEveryMs, signal);
      document = await write();
    }
  };
  return { document: () => document, service: { name: 'webhook-keys', run } };
};
