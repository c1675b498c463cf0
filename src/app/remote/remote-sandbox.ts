/** A sandbox at a server elsewhere, used with the credential of a caller. */
import { causeEvent, describedEventOf } from '../sandbox/trigger-event.ts';
import { askServer, callServer, RemoteError, type RemoteServer } from './ask-server.ts';

/**
 * Makes a real example of an event, by the operations that cause it. Returns the uid of the entity. Rejects for a credential that is
 * not of a sandbox: an invented order at a real restaurant would reach its kitchen. `restuid`: for callers of several restaurants.
 */
export const triggerAt = async (
  server: RemoteServer,
  { event, restuid }: { event: string; restuid: string | undefined },
): Promise<{ uid: string }> => {
  describedEventOf(event);
  const { payload } = await askServer(server, '/whoami', {});
  const { sandbox } = payload.credential as { sandbox?: unknown };
  if (sandbox !== true)
    throw new RemoteError('The credential is not one of a sandbox, and a real restaurant would get an invented order');
  const call = (path: string, body?: Readonly<Record<string, unknown>>) => callServer(server, path, { restuid }, body);
  // The server has the clock of the sandbox; orders without a date are for now.
  return causeEvent({ call, now: async () => new Date() }, event, Date.now());
};
