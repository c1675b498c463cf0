/**
 * Events of an endpoint at a server elsewhere, read with the credential of a caller like any other. That caller never
 * learns the endpoint's secret: what is forwarded is signed with one of this run, or with one that the developer names.
 */
import { createSecretForwarding, makeSecret } from '#src/webhooks/index.ts';
import { askServer, type Payload, type RemoteAnswer, RemoteError, type RemoteServer } from '../remote/ask-server.ts';
import { type EventReader, type ForwardEvents, followEvents, latestEvents } from './forward-events.ts';

/** What a signing secret must look like. */
export { isSecret, secretRule } from '#src/webhooks/index.ts';

type EventServer = RemoteServer & {
  /** Signs what is forwarded; default made. */
  secret: string | undefined;
  /** For callers of several restaurants. */
  restuid: string | undefined;
};

export const createRemoteEvents = (server: EventServer): ForwardEvents => {
  const secret = server.secret ?? makeSecret();
  const { send, close } = createSecretForwarding({ clock: { now: () => new Date() } });
  const ask = (path: string, params: Payload): Promise<RemoteAnswer> =>
    askServer(server, path, { ...params, restuid: server.restuid });
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
