/** The ports of the panel's pages about TLS certificates of clients. */
import { createCredentials, readGivenCertificate } from '#src/gateway/index.ts';
import type { CertificatePorts } from '#src/panel/index.ts';
import type { PortDeps } from './port-deps.ts';

export const createCertificatePorts = ({ installation, settings, routeTable }: PortDeps): CertificatePorts => {
  const { store, box, clock } = installation;
  const by = (actor: string) =>
    createCredentials({ db: store.db, box, clock, actor, scopes: routeTable().scopes.map(({ name }) => name) });
  return {
    isOn: settings.gateway.client_certificates === 'on',
    read: (pem) => readGivenCertificate(pem, clock.now()),
    add: async (actor, clientId, pem) => {
      const facts = readGivenCertificate(pem, clock.now());
      await by(actor).addClientCertificate(clientId, { pem });
      return facts;
    },
    remove: (actor, clientId, thumbprint) => by(actor).removeClientCertificate(clientId, thumbprint),
  };
};
