/** Attaches every handler of a door to an HTTP server. Without one of them Node would answer with its own text. */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { DoorHandlers } from './front.ts';
import { endUnread } from './node-http/end-unread.ts';
import { useOriginForm } from './node-http/origin-form.ts';
import { closeWithConnection } from './node-http/responses.ts';

/**
 * `door`: called at each event, since the door may change while the server runs. `request`: the handler of ordinary
 * requests, for the server of tool calls; default: the door. Parts that answer on the door's own server are not given here, since
 * `checkContinue` would pass them by: they stand in `handler` and `continueHandler` of `door`. The server's
 * `shouldUpgradeCallback` is the caller's to set.
 */
export const attachDoor = (server: Server, door: () => DoorHandlers, request?: RequestListener): void => {
  endUnread(server);
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, prepare);
  server
    .on('request', request ?? ((req, res) => door().handler(req, res)))
    .on('checkContinue', (req, res) => door().continueHandler(req, res))
    .on('checkExpectation', (req, res) => door().expectationHandler(req, res))
    .on('connect', (req, socket, head) => door().connectHandler(req, socket, head))
    .on('upgrade', (req, socket, head) => door().upgradeHandler(req, socket, head))
    .on('clientError', (error, socket) => door().clientErrorHandler(error, socket as Socket));
};

const prepare = (request: IncomingMessage, response: ServerResponse): void => {
  useOriginForm(request);
  closeWithConnection(request, response);
};
