/** Testi della cornice di ogni pagina. */
import type { FaultCode } from '#src/contract/fault.ts';
import type { Texts } from '../en/en.ts';

/** Che cosa è stato rifiutato, per codice: i dettagli dei moduli stanno presso i loro campi. */
const refusals: Partial<Record<FaultCode, string>> = {
  VALIDATION_ERROR: 'Uno dei valori inviati non è valido. Nulla è stato modificato.',
  MISSING_PARAMETER: 'Manca un valore. Nulla è stato modificato.',
  CONFLICT:
    'Lo stato attuale non lo permette: forse è già stato fatto, oppure prima va fatto altro. Torna indietro e ricarica la pagina.',
  RATE_LIMIT_EXCEEDED: 'Troppe pagine o troppi download aperti, o troppe richieste. Chiudine alcuni e riprova.',
  PAYLOAD_TOO_LARGE: 'Il modulo è troppo grande.',
  UNSUPPORTED_MEDIA_TYPE: 'Il modulo è stato inviato in un formato non accettato.',
  REQUEST_TIMEOUT: 'Il modulo è arrivato troppo lentamente. Riprova.',
};

export const frame: Texts['frame'] = {
  skip: 'Vai al contenuto',
  menu: 'Menu',
  groups: {
    restaurants: 'Ristoranti',
    clients: 'Client',
    portal: 'Client API',
    security: 'Sicurezza',
    users: 'Utenti',
  },
  mainNavigation: 'Principale',
  subNavigation: 'Questa sezione',
  signOut: 'Esci',
  language: 'Lingua',
  languageNames: { en: 'English', it: 'Italiano' },
  home: 'Panoramica',
  account: 'Account',
  requestFailed:
    'Nessuna risposta dal server. Prima di riprovare, ricarica la pagina per controllare se la modifica è stata eseguita.',
  changedMeanwhile:
    'Questi dati sono stati modificati dopo che hai aperto il modulo, da un altro utente o in un’altra finestra. Nulla è stato salvato. Il modulo mostra i dati attuali: ripeti la modifica.',
  copied: 'Copiato',
  copy: 'Copia',
  leaked: 'Valore segnalato come trapelato',
  copyOf: (what: string) => `Copia ${what}`,
  pages: 'Pagine',
  firstPage: 'Prima pagina',
  nextPage: 'Pagina successiva',
  roles: {
    owner: 'Titolare',
    support: 'Assistenza',
    security: 'Sicurezza',
    admin: 'Amministratore',
    contact: 'Referente di un client API',
  },
  problems: {
    notFound: { title: 'Pagina non trovata', text: 'Questa pagina non esiste, oppure non puoi vederla.' },
    forbidden: { title: 'Il tuo ruolo non lo permette', text: 'Il tuo account non può aprire questa pagina.' },
    expired: {
      title: 'Riprova',
      text: 'Questo modulo non appartiene alla sessione attuale, per esempio perché nel frattempo hai effettuato di nuovo l’accesso. Nulla è stato modificato.',
    },
    unavailable: {
      title: 'Servizio momentaneamente non disponibile',
      text: 'Il server ora non può rispondere. Se stavi modificando qualcosa, tra un minuto controlla se la modifica è stata eseguita prima di riprovare.',
    },
    failed: {
      title: 'Qualcosa è andato storto',
      text: 'Si è verificato un errore del server. Se stavi modificando qualcosa, controlla se la modifica è stata eseguita prima di riprovare. Se l’errore si ripete, comunica all’assistenza l’id della richiesta.',
    },
    refused: { title: 'Richiesta rifiutata', text: '' },
  },
  otherAddress: (origin) =>
    `Questo modulo non è stato inviato da una pagina di ${origin}. Apri il pannello a questo indirizzo e riprova. Nulla è stato modificato.`,
  unknownChoice: (name, value, words) =>
    `L’indirizzo di questa pagina contiene per ${name} il valore sconosciuto «${value}». Valori possibili: ${words}.`,
  unusableText: (name, value, max) =>
    `L’indirizzo di questa pagina contiene per ${name} il valore «${value}», che non si può cercare: al massimo ${max} caratteri.`,
  tooManyWords: (name, value, max) =>
    `L’indirizzo di questa pagina contiene per ${name} il valore «${value}», che non si può cercare: al massimo ${max} parole.`,
  refused: (code) => refusals[code] ?? 'Il server non lo permette. Nulla è stato modificato.',
  cancel: 'Annulla',
  requestId: 'Id della richiesta',
  backHome: 'Torna alla panoramica',
};
