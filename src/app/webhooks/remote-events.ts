/**
 * Events of an endpoint at a server elsewhere, read with the credential of a caller like any other. That caller never
 * learns the endpoint's secret: what is forwarded is signed with one of this run, or with one that the developer names.
 */
import { createSecretForwarding, makeSecret } from '#src/webhooks/index.ts';
import { type EventReader, type ForwardEvents, followEvents, latestEvents } from './forward-events.ts';
import type { Payload } from './webhook-admin.ts';

/** What a signing secret must look like. */
export { isSecret, secretRule } from '#src/webhooks/index.ts';

export type RemoteServer = {
  /** Its public address. */
  url: string;
  /** Headers of the credential. */
  credential: Readonly<Record<string, string>>;
  /** Signs what is forwarded; default made. */
  secret: string | undefined;
  /** For callers of several restaurants. */
  restuid: string | undefined;
};

/** A server that refused, or that could not be asked. `retryMs`: undefined where the same would be refused again. */
class RemoteError extends Error {
  override readonly name = 'RemoteError';
  readonly retryMs: number | undefined;
  constructor(message: string, retryMs?: number) {
    super(message);
    this.retryMs = retryMs;
  }
}

const answerMs = 30_000;
const retryMsMin = 1_000;
const retryMsMax = 60_000;

type Answer = { payload: Payload; date: Date };

export const createRemoteEvents = (server: RemoteServer): ForwardEvents => {
  const secret = server.secret ?? makeSecret();
  const { send, close } = createSecretForwarding({ clock: { now: () => new Date() } });
  const ask = (path: string, params: Payload): Promise<Answer> => askServer(server, path, params);
  // The answers of another server are trusted to have the members of the interface.
  const read = async <A>(path: string, params: Payload): Promise<A> => (await ask(path, params)).payload as A;
  const reader: EventReader = {
    listEvents: (params) => read('/events/list', params),
    listDeliveries: (params) => read('/webhook/deliveries', params),
    readDelivery: (params) => read('/webhook/delivery', params),
  };
  const headerNames = new Map<string, string>();
  const find = async (uid: string): Promise<{ kinds: readonly string[]; date: Date }> => {
    const { payload, date } = await ask('/webhook/endpoint', { uid });
    const { kinds, signature_header: name } = payload.endpoint as { kinds: string[]; signature_header: string };
    headerNames.set(uid, name);
    return { kinds, date };
  };
  return {
    note:
      server.secret === undefined
        ? `Signing secret of this run: ${secret}`
        : 'Signed with the secret of ORDERPASS_WEBHOOK_SECRET.',
    // From now on by the clock of the server: ours may be another one.
    follow: async (uid) => {
      const { kinds, date } = await find(uid);
      return followEvents(reader, kinds, date);
    },
    latest: async (uid, count) => {
      await find(uid);
      return latestEvents(reader, uid, count);
    },
    send: (uid, event, url, signal) =>
      send({ secret, signatureHeader: headerNames.get(uid) ?? '', event, url }, signal),
    retryMs: (error) => (error instanceof RemoteError ? error.retryMs : undefined),
    close,
  };
};

const askServer = async (
  { url, credential, restuid }: RemoteServer,
  path: string,
  params: Payload,
): Promise<Answer> => {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...params, restuid }))
    if (value !== undefined) query.set(name, String(value));
  let answer: Response;
  let text: string;
  try {
    answer = await fetch(`${url}/api${path}?${query}`, {
      headers: { ...credential, accept: 'application/json' },
      // The credential is for this server alone.
      redirect: 'error',
      signal: AbortSignal.timeout(answerMs),
    });
    text = await answer.text();
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw new RemoteError(
      `${url} cannot be asked: ${cause instanceof Error ? cause.message : 'no answer'}`,
      retryMsMin,
    );
  }
  const payload = parsed(text);
  if (answer.status === 200 && payload?.success === true)
    return { payload, date: new Date(answer.headers.get('date') ?? Date.now()) };
  const said = typeof payload?.message === 'string' ? payload.message : `an answer with status ${answer.status}`;
  const asked = Number(answer.headers.get('retry-after') ?? 0) * 1000;
  const isPassing = answer.status === 429 || answer.status >= 500;
  throw new RemoteError(
    `${url} says: ${said}`,
    isPassing ? Math.min(retryMsMax, Math.max(retryMsMin, asked || 0)) : undefined,
  );
};

const parsed = (text: string): Payload | undefined => {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Payload) : undefined;
  } catch {
    return undefined;
  }
};
