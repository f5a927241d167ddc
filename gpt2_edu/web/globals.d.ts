/** The worker's code, where all modules were packed into one script (make web). */
declare const PACKED_WORKER: string | undefined;
