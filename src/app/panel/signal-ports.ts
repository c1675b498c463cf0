/** The ports of the panel's pages about streams of security events. */
import { createSignalAdmin } from '#src/gateway/index.ts';
import type { SignalPorts } from '#src/panel/index.ts';
import type { PortDeps } from './port-deps.ts';

export const createSignalPorts = ({ installation, settings }: PortDeps): SignalPorts => {
  const { store, box, clock } = installation;
  const as = (actor: string) => createSignalAdmin({ db: store.db, box, clock, actor });
  const reading = as('panel');
  return {
    isOn: settings.gateway.signals === 'on',
    list: (after) => reading.list(after),
    find: (id) => reading.find(id),
    pause: (actor, id, reason) => as(actor).pause(id, reason),
    resume: (actor, id) => as(actor).resume(id),
  };
};
