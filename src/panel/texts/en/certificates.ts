/** Texts of the pages about TLS certificates of clients. */
export const certificates = {
  title: (client: string) => `Certificates of ${client}`,
  intro:
    'The client can prove itself by a TLS certificate instead of a secret. Add the next certificate before one expires; both are valid meanwhile.',
  off: 'Client certificates are turned off (ORDERPASS_CLIENT_CERTIFICATES): none is asked for.',
  none: 'The client has no certificate.',
  caption: 'TLS certificates of the client',
  certificate: 'Subject and thumbprint',
  subject: 'Subject',
  thumbprint: 'Thumbprint (SHA-256)',
  ends: 'Expires',
  noEnd: 'no end known',
  addTitle: 'Add a certificate',
  pem: 'Certificate (PEM)',
  pemHint: 'From BEGIN CERTIFICATE to END CERTIFICATE, without the private key.',
  check: 'Check',
  addAsk: (client: string) => `Add this certificate to ${client}?`,
  add: 'Add',
  added: (thumbprint: string, client: string) => `The certificate ${thumbprint} is added to ${client}.`,
  unreadable: 'This is not one valid certificate in PEM form, or it has ended.',
  conflict: 'The client has this certificate already, or has as many as it may have.',
  remove: 'Remove',
  removeTitle: (client: string) => `Remove a certificate of ${client}?`,
  removeText: (client: string) =>
    `${client} cannot prove itself by it any more, and every token that is bound to it ends within a second.`,
  removed: (thumbprint: string, client: string) => `The certificate ${thumbprint} of ${client} is removed.`,
};
