/** Una frase per ogni tipo di evento del registro. */
import type { EventWords } from '../en/audit-events.ts';
import type { Texts } from '../en/en.ts';

const because = ({ reason }: Pick<EventWords, 'reason'>): string => (reason === null ? '' : `: ${reason}`);
const on = ({ route }: Pick<EventWords, 'route'>): string => (route === null ? '' : ` a ${route}`);
const state = ({ detail }: Pick<EventWords, 'detail'>): string =>
  detail('state') === 'quarantined' ? 'ha messo in quarantena' : 'ha riattivato';

export const auditEvents: Texts['auditEvents'] = {
  sentences: {
    'token.issued': ({ caller, count }) =>
      count === 1 ? `${caller} ha ottenuto un token di accesso.` : `${caller} ha ottenuto ${count} token di accesso.`,
    'token.refused': (w) =>
      `Una richiesta di ${w.caller} a un endpoint OAuth: rifiutata${w.reason === null ? '' : ` (${w.reason})`}.`,
    'token.revoked': ({ who, caller }) => `${who} ha revocato un token di accesso di ${caller}.`,
    'token.introspected': ({ caller }) => `${caller} ha chiesto se un token è valido.`,
    'request.allowed': (w) =>
      `${w.caller} ha inviato ${w.count === 1 ? 'una richiesta' : `${w.count} richieste`}${on(w)}${w.failed ? `, non andata a buon fine${because(w)}` : ''}.`,
    'request.denied': (w) =>
      `${w.count === 1 ? 'Una richiesta' : `${w.count} richieste`} di ${w.caller}${on(w)}: accesso rifiutato${w.reason === null ? '' : ` (${w.reason})`}.`,
    'request.simulated': ({ caller }) => `${caller} ha chiesto un errore alla sandbox e l’ha ricevuto.`,
    'tenant.created': ({ who, restaurants }) => `${who} ha creato ${restaurants}.`,
    'tenant.changed': ({ who, restaurants, detail }) =>
      detail('api_enabled') === 'true'
        ? `${who} ha attivato l’accesso API a ${restaurants}.`
        : detail('api_enabled') === 'false'
          ? `${who} ha disattivato l’accesso API a ${restaurants}.`
          : `${who} ha modificato le impostazioni o i dati di ${restaurants}.`,
    'tenant.removed': ({ who, restaurants }) => `${who} ha eliminato ${restaurants}.`,
    'key.created': ({ who, caller, restaurants }) => `${who} ha creato la chiave API ${caller} per ${restaurants}.`,
    'key.revoked': (w) => `${w.who} ha revocato la chiave API ${w.caller}${because(w)}.`,
    'key.rotated': ({ who, caller, endsAtOnce }) =>
      `${who} ha sostituito la chiave API ${caller}; il vecchio valore ${endsAtOnce ? 'ha smesso subito di funzionare' : 'ha funzionato ancora per un po’'}.`,
    'key.state_changed': (w) => `${w.who} ${state(w)} la chiave API ${w.caller}${because(w)}.`,
    'key.limits_changed': ({ who, caller }) => `${who} ha impostato i limiti della chiave API ${caller}.`,
    'key.addresses_changed': ({ who, caller }) =>
      `${who} ha impostato gli indirizzi da cui si può usare la chiave API ${caller}.`,
    'client.created': ({ who, caller }) => `${who} ha creato il client ${caller}.`,
    'client.disabled': (w) => `${w.who} ha disabilitato definitivamente il client ${w.caller}${because(w)}.`,
    'client.state_changed': (w) => `${w.who} ${state(w)} il client ${w.caller}${because(w)}.`,
    'client.scopes_changed': ({ who, caller }) => `${who} ha impostato i permessi di ${caller}.`,
    'client.rights_changed': ({ who, caller }) => `${who} ha impostato i diritti di ${caller} sugli endpoint OAuth.`,
    'client.limits_changed': ({ who, caller }) => `${who} ha impostato i limiti di ${caller}.`,
    'client.addresses_changed': ({ who, caller }) => `${who} ha impostato gli indirizzi da cui si può usare ${caller}.`,
    'client.granted': ({ who, caller, restaurants }) => `${who} ha dato a ${caller} l’accesso a ${restaurants}.`,
    'client.withdrawn': ({ who, caller, restaurants }) => `${who} ha tolto a ${caller} l’accesso a ${restaurants}.`,
    'client.tokens_revoked': ({ who, caller }) => `${who} ha revocato tutti i token di ${caller}.`,
    'secret.created': ({ who, caller, detail }) =>
      detail('rotated') === 'true'
        ? `${who} ha sostituito il segreto di ${caller}.`
        : `${who} ha creato un segreto per ${caller}.`,
    'secret.retired': (w) =>
      w.detail('state') === 'expiring'
        ? `${w.who} ha fissato la scadenza di un segreto di ${w.caller}.`
        : `${w.who} ha ritirato un segreto di ${w.caller}${because(w)}.`,
    'secret.state_changed': (w) => `${w.who} ${state(w)} un segreto di ${w.caller}${because(w)}.`,
    'client_key.added': ({ who, caller }) => `${who} ha aggiunto una chiave pubblica di ${caller}.`,
    'client_key.revoked': ({ who, caller }) => `${who} ha rimosso una chiave pubblica di ${caller}.`,
    'client_certificate.added': ({ who, caller }) => `${who} ha aggiunto un certificato di ${caller}.`,
    'client_certificate.removed': ({ who, caller }) => `${who} ha rimosso un certificato di ${caller}.`,
    'client_trust.added': ({ who, caller }) =>
      `${who} ha consentito a ${caller} di accedere con le identità di un altro emittente.`,
    'client_trust.removed': ({ who, caller }) =>
      `${who} non consente più a ${caller} di accedere con le identità di un emittente.`,
    'leak.reported': ({ who, caller, detail }) =>
      detail('ended') === 'true'
        ? `Una credenziale di ${caller} è stata segnalata come trapelata e revocata (${who}).`
        : `Una credenziale di ${caller} è stata segnalata come trapelata (${who}).`,
    'signing_key.rotated': ({ who }) => `${who} ha sostituito la chiave che firma i token di accesso.`,
    'master_key.added': ({ who }) => `${who} ha aggiunto una chiave master.`,
    'master_key.removed': ({ who }) => `${who} ha rimosso una chiave master.`,
    'signals.changed': ({ who }) => `${who} ha modificato un flusso di eventi di sicurezza.`,
    'webhook.changed': ({ who }) =>
      `${who} ha modificato gli endpoint webhook o ha fatto inviare di nuovo degli eventi.`,
    'user.created': ({ who, user }) => `${who} ha creato l’account ${user}.`,
    'user.changed': ({ who, user }) => `${who} ha modificato l’account ${user}.`,
    'user.link_made': ({ who, user }) => `${who} ha creato un link monouso per ${user}.`,
    'user.password_set': ({ who }) => `${who} ha impostato una nuova password.`,
    'user.totp_added': ({ who }) => `${who} ha attivato l’accesso in due passaggi.`,
    'user.totp_removed': ({ who, user }) =>
      user === ''
        ? `${who} ha disattivato l’accesso in due passaggi.`
        : `${who} ha disattivato l’accesso in due passaggi di ${user}.`,
    'user.signed_in': ({ who }) => `${who} ha effettuato l’accesso.`,
    'user.sign_in_failed': (w) => `${w.who} ha tentato di accedere senza riuscirci${because(w)}.`,
    'user.check_failed': (w) => `${w.who} non ha confermato una modifica dell’account${because(w)}.`,
    'user.signed_out': ({ who }) => `${who} ha chiuso la sessione.`,
    'user.session_ended': ({ who, user }) =>
      user === '' || user === who
        ? `${who} ha chiuso la sessione di un altro browser.`
        : `${who} ha disconnesso ${user}.`,
    'user.passkey_added': ({ who }) => `${who} ha aggiunto una passkey.`,
    'user.passkey_renamed': ({ who, detail }) =>
      `${who} ha rinominato la passkey «${detail('former_name')}» in «${detail('name')}».`,
    'user.passkey_removed': ({ who, user }) =>
      user === '' ? `${who} ha rimosso una passkey.` : `${who} ha rimosso le passkey di ${user}.`,
    'user.factor_policy_changed': ({ who }) => `${who} ha scelto i ruoli che richiedono un secondo fattore.`,
    'user.notices_changed': ({ who }) => `${who} ha modificato gli avvisi da ricevere.`,
    'user.notice_secret_rotated': ({ who }) => `${who} ha sostituito il segreto che firma gli avvisi a un indirizzo.`,
    'user.search_saved': ({ who, detail }) => `${who} ha salvato la ricerca «${detail('name')}».`,
    'user.search_removed': ({ who, detail }) => `${who} ha eliminato la ricerca salvata «${detail('name')}».`,
    'config.reloaded': (w) =>
      w.failed
        ? `Una nuova tabella dei percorsi è stata rifiutata${because(w)}.`
        : `${w.who} ha caricato una nuova tabella dei percorsi.`,
    'store.backed_up': ({ who }) => `${who} ha avviato un backup del database.`,
    'store.restored': ({ who }) => `${who} ha ripristinato il database da un backup.`,
    'store.moved': ({ who, detail }) =>
      detail('undone') === ''
        ? `${who} ha avviato la copia del database su un server.`
        : `${who} ha annullato la copia del database su un server.`,
    'audit.key_changed': () => 'La chiave che firma i checkpoint del registro è stata cambiata.',
    'audit.read': ({ who }) => `${who} ha letto il registro.`,
    'audit.dropped': ({ who }) => `${who} ha eliminato gli eventi oltre il periodo di conservazione.`,
    'audit.broken': () => 'Una catena del registro è risultata modificata e ne è stata iniziata una nuova.',
    'audit.rolled_back': () => 'Il database contiene uno stato del registro meno recente di quello già noto.',
    'audit.chain_closed': () => 'La catena aperta di un processo terminato è stata verificata e chiusa.',
  },
  system: 'Il sistema',
  atCommandLine: (name) => `${name} dalla riga di comando`,
  unknownWho: 'Un utente sconosciuto',
  unknownCaller: 'Un chiamante sconosciuto',
  someRestaurant: 'un ristorante',
  timelineTitle: 'Cronologia',
  timelineOf: (name) => `Che cosa è successo a ${name}`,
  activityOf: (name) => `Attività di ${name}`,
  timelineIntro:
    'Tutti gli eventi di un client, un ristorante o un utente, descritti a parole. Anche questa lettura viene registrata.',
  timelineAsk: 'Inserisci il nome o l’id di un client o di un ristorante, oppure l’email di un utente.',
  timelineShow: 'Mostra la cronologia',
  timelineLink: (name) => `Cronologia di ${name}`,
  historyLead: 'Tutti gli eventi, descritti a parole',
  asEvents: 'Mostra come tabella',
  nothing: 'Il registro non contiene eventi che lo riguardano.',
  details: 'Dettagli',
};
