/** The keys and the sources of webhooks where receivers look for them: at the gateway, which knows nothing of webhooks. */
import type { Page } from '#src/gateway/index.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import { createSigningKeys, createWebhookSources, signatureSchemes } from '#src/webhooks/index.ts';
import type { Installation } from '../installation/installation.ts';
import type { Settings } from '../settings/config.ts';

const readEveryMs = 60_000;

type PublishedKeys = {
  /** Path → body. */
  documents: Readonly<Record<string, () => string>>;
  /** Path → page; empty when no sources are set. */
  pages: readonly (readonly [string, Page])[];
  service: Service;
};

/** Rejects while the store is away: a gateway does not start without them. */
export const publishWebhookKeys = async (
  { store, box, clock }: Installation,
  { webhooks }: Pick<Settings, 'webhooks'>,
  origin: string,
): Promise<PublishedKeys> => {
  const deps = { db: store.db, box, clock };
  const keys = createSigningKeys(deps);
  // Apart from the keys of `v1a`, whose readers expect Ed25519 keys only.
  const messageKeys = signatureSchemes.map((scheme) => createSigningKeys(deps, scheme));
  const read = async () => {
    const sets = await Promise.all(messageKeys.map((one) => one.publicJwks()));
    return {
      v1a: JSON.stringify(await keys.publicJwks()),
      messages: JSON.stringify({ keys: sets.flatMap((set) => set.keys) }),
    };
  };
  let written = await read();
  const run = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      await pause(readEveryMs, signal);
      written = await read();
    }
  };
  return {
    documents: {
      '/.well-known/webhook-keys': () => written.v1a,
      '/.well-known/webhook-signature-keys': () => written.messages,
    },
    pages: webhooks.sources.length === 0 ? [] : [['/.well-known/webhook-sources', sourcesPage(deps, webhooks, origin)]],
    service: { name: 'webhook-keys', run },
  };
};

const sourcesPage = (
  deps: Pick<Installation, 'box' | 'clock'> & Pick<Installation['store'], 'db'>,
  { sources }: Settings['webhooks'],
  origin: string,
): Page => ({
  type: 'application/json; charset=utf-8',
  headers: { 'cache-control': 'public, max-age=3600' },
  bodyFor: createWebhookSources({ ...deps, origin, networks: sources }),
});
