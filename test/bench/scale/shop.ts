/** A gateway and a core of the program on a scaled store, and requests to them. */
import { freePort } from '../../support/free-port.ts';
import { startProgram } from '../../support/program.ts';
import { startReceiver } from '../../support/webhook-receiver.ts';
import type { ScaledStore } from './open-scaled-store.ts';

/** `path`: with its query. A form is sent where `form` is given, JSON where `body` is. */
export type Request = {
  method?: 'GET' | 'POST';
  path: string;
  query?: Record<string, string>;
  body?: Record<string, unknown>;
  form?: Record<string, string>;
  /** Default: that of the restaurant, in the query or in the body. */
  restuid?: string | undefined;
  authorization?: string;
};

export type Shop = {
  scaled: ScaledStore;
  /** Bearer token of the client, with every scope. */
  token: string;
  /** A receiver on loopback that answers at once. */
  receiverUrl: string;
  /** Throws unless the answer is a success. */
  call: (request: Request) => Promise<Record<string, unknown>>;
  /** Whatever the answer is. */
  fetch: (request: Request) => Promise<Response>;
  close: () => Promise<void>;
};

/** Settings of every process of a store. The demo restaurant and the tests of private targets do not belong to the bench. */
export const environmentOf = ({ url, masterKey }: ScaledStore): Record<string, string> => ({
  DATABASE_URL: url,
  ORDERPASS_MASTER_KEY: masterKey,
  ORDERPASS_ALLOW_PRIVATE_TARGETS: 'true',
  ORDERPASS_LOG_LEVEL: 'error',
  NODE_ENV: 'production',
});

export const openShop = async (scaled: ScaledStore): Promise<Shop> => {
  const env = { ...environmentOf(scaled), ORDERPASS_ORIGIN: 'http://localhost:4000' };
  const port = String(await freePort());
  const receiver = await startReceiver();
  const core = await startProgram({ ...env, ORDERPASS_ROLE: 'ordering', ORDERPASS_INTERNAL_PORT: port });
  const gateway = await startProgram({
    ...{ ...env, ORDERPASS_ROLE: 'gateway' },
    ORDERPASS_UPSTREAMS: `ordering=http://127.0.0.1:${port}`,
  });
  const send = ({ path, query = {}, body, form, restuid, ...more }: Request): Promise<Response> => {
    const { method = body === undefined && form === undefined ? 'GET' : 'POST', authorization } = more;
    const url = new URL(path, gateway.url);
    const named = restuid === undefined ? {} : { restuid };
    if (method === 'GET') url.search = new URLSearchParams({ ...named, ...query }).toString();
    const sent = form === undefined ? body && JSON.stringify({ ...named, ...body }) : new URLSearchParams(form);
    return fetch(url, {
      method,
      headers: {
        ...(authorization === undefined ? { 'x-api-key': scaled.apiKey } : { authorization }),
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(sent !== undefined && { body: sent }),
    });
  };
  const call = async (request: Request): Promise<Record<string, unknown>> => {
    const answer = await send(request);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${request.path}: ${answer.status} ${text.slice(0, 500)}`);
    return (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>;
  };
  const { id: client_id, secret: client_secret } = scaled.client;
  const form = { grant_type: 'client_credentials', client_id, client_secret };
  const issued = await call({ path: '/api/oauth/token', form });
  return {
    ...{ scaled, call, fetch: send, receiverUrl: receiver.url },
    token: `Bearer ${String(issued.access_token)}`,
    close: async () => {
      for (const program of [gateway, core]) await program.stop();
      await receiver.close();
    },
  };
};
