/** A sandbox at a server elsewhere, used with the credential of a caller. */
import { causeEvent, describedEventOf, scopesOfCause } from '../sandbox/trigger-event.ts';
import { askServer, callServer, RemoteError, type RemoteServer } from './ask-server.ts';

type Call = (path: string, body?: Readonly<Record<string, unknown>>) => ReturnType<typeof callServer>;

/**
 * Makes a real example of an event, by the operations that cause it. Rejects for a credential that is not of a sandbox, because an
 * invented order at a real restaurant would reach its kitchen, for one that lacks a scope, and for an event that cannot follow, before
 * anything changes. `uid`: of the entity.
 * `isKindKnown`: false where the credential may not read whether the kind is on. `restuid`: for callers of several restaurants.
 */
export const triggerAt = async (
  server: RemoteServer,
  { event, restuid }: { event: string; restuid: string | undefined },
): Promise<{ uid: string; isKindKnown: boolean }> => {
  const { kind } = describedEventOf(event);
  const { payload } = await askServer(server, '/whoami', {});
  const { sandbox, scopes } = payload.credential as { sandbox?: unknown; scopes: readonly string[] };
  if (sandbox !== true)
    throw new RemoteError('The credential is not one of a sandbox, and a real restaurant would get an invented order');
  const missing = scopesOfCause(event).filter((scope) => !scopes.includes(scope));
  if (missing.length > 0) throw new RemoteError(`The credential lacks ${missing.join(' ')}, which ${event} needs`);
  const call: Call = (path, body) => callServer(server, path, { restuid }, body);
  const isOn = await readSwitch(call, kind);
  if (isOn === false)
    throw new RemoteError(
      `Events of the kind ${kind} are off in the sandbox, so none would be recorded. The panel of the server, or there \`notifications set --restaurant <restuid> --${kind} on\`, switches them on`,
    );
  const { uid } = await causeEvent({ call, now: () => readClock(call) }, event, Date.now());
  return { uid, isKindKnown: isOn !== undefined };
};

/** Undefined: the credential may not read it. */
const readSwitch = async (call: Call, kind: string): Promise<boolean | undefined> => {
  const { status, error, json } = await call('/webhook/endpoints?pagesize=1');
  if (status === 403) return undefined;
  if (error !== undefined) throw new RemoteError(`The sandbox refused webhook/endpoints: ${error}, ${json.message}`);
  return (json.kinds_enabled as Readonly<Record<string, boolean>>)[kind] === true;
};

/** The time of the sandbox; the real one where the credential may not read it. */
const readClock = async (call: Call): Promise<Date> => {
  const { error, json } = await call('/sandbox/clock', {});
  return error === undefined ? new Date((json.clock as { now_iso: string }).now_iso) : new Date();
};
