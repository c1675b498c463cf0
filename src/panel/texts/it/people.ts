/** Testi delle passkey, del secondo fattore obbligatorio e degli avvisi. */
import type { Texts } from '../en/en.ts';

export const passkeys: Texts['passkeys'] = {
  title: 'Passkey',
  about:
    'Con una passkey accedi usando l’impronta, il volto o il PIN del tuo dispositivo, senza password e senza codice. Funziona solo su questo indirizzo, quindi una pagina falsa non può chiederla.',
  off: 'Le passkey richiedono un nome host nell’indirizzo del pannello. Questa installazione ha solo un numero.',
  name: 'Nome',
  nameHint: 'Per riconoscerla in seguito, ad esempio «Portatile dell’ufficio».',
  nameProblem: 'Dalle un nome di 60 caratteri al massimo.',
  created: 'Aggiunta',
  used: 'Ultimo uso',
  never: 'Mai',
  add: 'Aggiungi una passkey',
  intro:
    'Il browser ti chiederà dove salvarla: su questo dispositivo, su un telefono vicino o su una chiave di sicurezza.',
  go: 'Continua',
  create: 'Crea la passkey',
  createText: (name) => `Segui le istruzioni del browser per «${name}».`,
  added: (name) => `La passkey «${name}» è stata aggiunta. Le altre tue sessioni sono chiuse.`,
  notAdded: 'La passkey non è stata aggiunta, di solito perché è passato troppo tempo. Riprova.',
  tooMany: 'Questo account ha 20 passkey. Rimuovine una che non usi.',
  rename: 'Rinomina',
  renameNow: 'Salva il nome',
  renameTitle: (name) => `Rinomina la passkey «${name}»`,
  renamed: (name) => `Ora la passkey si chiama «${name}».`,
  remove: 'Rimuovi…',
  removeNow: 'Rimuovi la passkey',
  removeTitle: (name) => `Rimuovere la passkey «${name}»?`,
  removeText:
    'Non potrai più usarla per accedere, e le altre tue sessioni aperte con una passkey si chiuderanno. Il dispositivo potrebbe proporla ancora: eliminala anche lì.',
  removed: 'La passkey è stata rimossa. Le altre tue sessioni aperte con una passkey sono chiuse.',
  signIn: 'Accedi con una passkey',
  signInText: 'Il browser ti chiederà la passkey.',
  use: 'Usa la mia passkey',
  again: 'Riprova',
  refused: 'Questa passkey non è stata accettata: è stata rimossa, è passato troppo tempo o l’account è disattivato.',
  needsScript: 'Le passkey richiedono JavaScript. Accedi con la password.',
  notGiven: 'Il browser non ha fornito una passkey. Premi il pulsante per riprovare.',
  removeAll: 'Rimuovi tutte le passkey',
  ask: {
    title: (email) => `Rimuovere tutte le passkey di ${email}?`,
    text: 'Tutte le sessioni di questo account vengono chiuse. Gli altri modi di accedere restano come sono: password, link monouso o provider.',
  },
  removedAll: (email) => `Le passkey di ${email} sono state rimosse e tutte le sessioni sono chiuse.`,
};

export const factor: Texts['factor'] = {
  title: 'Secondo fattore obbligatorio',
  about:
    'Gli utenti di questi ruoli accedono con i codici monouso o con una passkey. Chi non ha né gli uni né l’altra deve prima configurare uno dei due: fino ad allora non si apre nessun’altra pagina.',
  rolesTitle: 'Obbligatorio per',
  saved: 'Il secondo fattore obbligatorio è stato salvato.',
  askTitle: 'Rendere obbligatorio il secondo fattore per altri ruoli?',
  askText:
    'Gli utenti di questi ruoli che non hanno né codici monouso né una passkey potranno aprire soltanto la pagina per aggiungerli, anche nelle sessioni aperte:',
  neededTitle: 'Aggiungi un secondo fattore',
  needed: (role) =>
    `In questa installazione il ruolo «${role}» richiede un secondo fattore. Le altre pagine si aprono quando ne hai aggiunto uno.`,
  usePasskeyTitle: 'Accedi con la tua passkey',
  usePasskey:
    'Il tuo ruolo richiede un secondo fattore. Il tuo account ha una passkey: accedi con quella. Se l’hai persa, chiedi a un amministratore di rimuoverla.',
};

export const notices: Texts['notices'] = {
  title: 'Avvisi',
  about: 'Orderpass invia ogni avviso poco dopo il fatto. Se il server che lo riceve non risponde, lo invia di nuovo.',
  none: 'Non ricevi avvisi.',
  notSent:
    'Nessuno di questi viene inviato: scegli un indirizzo, oppure l’email se questa installazione ha un server di posta.',
  change: 'Modifica gli avvisi',
  which: 'Avvisami quando',
  kinds: {
    endpoint_disabled: 'un endpoint webhook viene disabilitato per gli errori del suo ricevitore',
    key_ending: 'una chiave API scade entro 7 giorni',
    credential_ending: 'l’ultimo segreto o certificato di un client API scade entro 7 giorni',
    leak_reported: 'una credenziale viene segnalata come trapelata e revocata',
    refusals: 'le richieste rifiutate sono insolitamente numerose',
    audit_broken: 'il registro è stato alterato',
  },
  where: 'Dove',
  mail: (email) => `Per email a ${email}`,
  mailOff: 'Questa installazione non ha un server di posta: finché non ne avrà uno, non viene inviata nessuna email.',
  url: 'A questo indirizzo (webhook)',
  urlHint:
    'Vi viene inviato un oggetto JSON con «text» e «data», firmato con un segreto che viene mostrato una volta sola. Lascia vuoto per mantenere l’indirizzo salvato.',
  urlProblem: 'A questo indirizzo non si può inviare nulla: deve iniziare con https:// e portare a un host pubblico.',
  stored: (origin) => `È salvato un indirizzo su ${origin}.`,
  remove: 'Rimuovi l’indirizzo salvato',
  saved: 'I tuoi avvisi sono stati salvati.',
  signature: 'Firma',
  signed:
    'Tutto ciò che viene inviato all’indirizzo è firmato secondo Standard Webhooks: webhook-id, webhook-timestamp e, in webhook-signature, una firma v1 calcolata con il segreto. Il ricevitore la verifica con una qualsiasi libreria per Standard Webhooks o con il codice della guida.',
  unsigned: 'Questo indirizzo non ha ancora un segreto, quindi gli avvisi non sono firmati. Creane uno.',
  previousUntil: 'Il segreto precedente firma ancora, insieme a quello attuale, fino al',
  verify: 'Come verificare la firma',
  rotate: 'Crea un nuovo segreto',
  rotateText:
    'Per 24 ore il segreto attuale firma insieme a quello nuovo: nel frattempo configura quello nuovo nel ricevitore.',
  overlapBlocks:
    'Il segreto precedente firma ancora, quindi non se ne crea un altro. Se quello attuale è andato perso o è finito in altre mani, inserisci di nuovo l’indirizzo: riceve un nuovo segreto e questi due smettono subito di firmare.',
  secretTitle: 'Il segreto è pronto',
  secretFor: 'Segreto che firma i tuoi avvisi',
  secretText: 'Copialo ora: non verrà più mostrato. Il ricevitore lo usa per verificare la firma di ogni avviso.',
  secretSaved: 'L’ho salvato: torna all’account',
};
