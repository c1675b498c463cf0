/** Texts of the pages about TLS certificates of clients. */
import type { Texts } from '../en/en.ts';

export const certificates: Texts['certificates'] = {
  title: (client) => `Certificati di ${client}`,
  intro:
    'Il client può autenticarsi con un certificato TLS al posto di un segreto. Aggiungi il certificato successivo prima che uno scada: nel frattempo valgono entrambi.',
  off: 'I certificati dei client sono disattivati (ORDERPASS_CLIENT_CERTIFICATES): non ne viene richiesto nessuno.',
  none: 'Il client non ha certificati.',
  caption: 'Certificati TLS del client',
  certificate: 'Soggetto e impronta',
  subject: 'Soggetto',
  thumbprint: 'Impronta (SHA-256)',
  ends: 'Scade',
  noEnd: 'scadenza non nota',
  addTitle: 'Aggiungi un certificato',
  pem: 'Certificato (PEM)',
  pemHint: 'Da BEGIN CERTIFICATE a END CERTIFICATE, senza la chiave privata.',
  check: 'Controlla',
  addAsk: (client) => `Aggiungere questo certificato a ${client}?`,
  add: 'Aggiungi',
  added: (thumbprint, client) => `Il certificato ${thumbprint} è stato aggiunto a ${client}.`,
  unreadable: 'Non è un unico certificato valido in formato PEM, oppure è scaduto.',
  conflict: 'Il client ha già questo certificato, oppure ne ha il numero massimo.',
  remove: 'Rimuovi',
  removeTitle: (client) => `Rimuovere un certificato di ${client}?`,
  removeText: (client) =>
    `${client} non potrà più autenticarsi con questo certificato, e ogni token legato ad esso smette di valere entro un secondo.`,
  removed: (thumbprint, client) => `Il certificato ${thumbprint} di ${client} è stato rimosso.`,
};
