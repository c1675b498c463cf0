/**
 * The operations of the core for one sandbox, called as the gateway calls them: over an internal listener of this process, with an
 * assertion. So what a script does passes the same checks and transactions, and causes the same events, as the request of a caller.
 */
import { type AssertedCaller, assertionKeyLabel, createAssertionSigner } from '#src/contract/assertion.ts';
import { assertionHeader } from '#src/contract/headers.ts';
import { loadScopeNames, routesFileOf } from '#src/gateway/config.ts';
import { createOrdering, showSandboxClock } from '#src/ordering/index.ts';
import type { Installation } from '../installation/installation.ts';
import { createCoreHandler, createInternalServer, listen } from '../listeners/listeners.ts';
import type { Settings } from '../settings/config.ts';
import { orderingAudience } from '../settings/ordering-audience.ts';

export type CoreAnswer = {
  status: number;
  /** Code of the refusal; undefined after a success. */
  error: string | undefined;
  json: Readonly<Record<string, unknown>>;
};

export type Core = {
  /** With `body` a POST. `path`: below /api. */
  call(path: string, body?: Readonly<Record<string, unknown>>): Promise<CoreAnswer>;
  /** The time of the sandbox. */
  now(): Promise<Date>;
  close(): Promise<void>;
};

/** Throws NOT_FOUND, and VALIDATION_ERROR for a restaurant that is no sandbox. */
export const openCore = async (installation: Installation, settings: Settings, restuid: string): Promise<Core> => {
  const { store, box, clock, log } = installation;
  // It refuses a restaurant that is no sandbox.
  await showSandboxClock(store.db, restuid, clock.now());
  const assertionKey = box.derive(assertionKeyLabel(orderingAudience));
  const { operations } = createOrdering({
    ...{ db: store.db, clock, log, settings: settings.ordering },
    cursorKey: box.derive('cursor'),
    orderTokenKey: box.derive('order-token'),
  });
  const handler = createCoreHandler(operations, { db: store.db, box, clock, log, assertionKey });
  const listener = await listen(createInternalServer(handler), '127.0.0.1', 0);
  const sign = createAssertionSigner({
    key: assertionKey,
    audience: orderingAudience,
    now: () => clock.now().getTime(),
  });
  const caller: AssertedCaller = {
    kind: 'api_client',
    id: 'opc_test_script',
    tenants: [restuid],
    tenants_disabled: [],
    scopes: loadScopeNames(routesFileOf(settings.gateway)),
  };
  return {
    call: async (path, body) => {
      const target = `/api${path}`;
      const method = body === undefined ? 'GET' : 'POST';
      const answer = await fetch(`${listener.url}${target}`, {
        method,
        headers: { [assertionHeader]: sign(caller, { method, target }), 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const json = (await answer.json()) as Record<string, unknown>;
      return {
        status: answer.status,
        error: typeof json.error === 'string' ? json.error : undefined,
        json,
      };
    },
    now: async () => (await showSandboxClock(store.db, restuid, clock.now())).now,
    close: () => listener.close(1_000),
  };
};
