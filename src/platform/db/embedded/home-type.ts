/** Where a cluster lives: the folder with its lock, and the folder of PostgreSQL's own files in it. */
export type Home = { folder: string; cluster: string };
