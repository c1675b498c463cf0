/** A gateway and a core of the program on a scaled store, and requests to them. */
import { freePort } from '../../support/free-port.ts';
import { startProgram } from '../../support/program.ts';
import { startReceiver } from '../../support/webhook-receiver.ts';
import type { ScaledStore } from './open-scaled-store.ts';

/** A form is sent where `form` is given, JSON where `body` is; without both it is a GET. */
export type Request = {
  path: string;
  query?: Record<string, string>;
  body?: Record<string, unknown>;
  form?: Record<string, string>;
  /** Sent with the query or the body. */
  restuid?: string | undefined;
  /** Default: the API key of the restaurant. */
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

/** Settings of every process of a store: its receivers are on loopback, and it makes no demo restaurant. */
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
  const send = ({ path, query = {}, body, form, restuid, authorization }: Request): Promise<Response> => {
    const method = body === undefined && form === undefined ? 'GET' : 'POST';
    const url = new URL(path, gateway.url);
    const named = restuid === undefined ? {} : { restuid };
    if (method === 'GET') url.search = new URLSearchParams({ ...named, ...query }).toString();
    const sent = form === undefined ? body && JSON.stringify({ ...named, ...body }) : new URLSearchParams(form);
    return fetch(url, {
      method,
      headers: {
        ...(authorization !== undefined ? { authorization } : form === undefined && { 'x-api-key': scaled.apiKey }),
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
