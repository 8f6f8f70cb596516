// Made from the server's /openapi.json by tools/gen-client-types.py. Do not edit.

export type Error = {
  error: {
    code: "invalid" | "auth" | "denied" | "not_found" | "busy" | "too_large" | "unsupported" | "protocol" | "session_lost" | "system" | "internal";
    message: string;
    hint: string | null;
  };
};

export type Result = {
  id: string;
  status: "running" | "success" | "error" | "timeout" | "memory_exceeded" | "refused" | "cancelled";
  approvals?: Approval[];
  exit_code?: number | null;
  signal?: number | null;
  stdout?: string;
  stderr?: string;
  /** of a command that runs: written so far */
  stdout_bytes?: number;
  /** of a command that runs: written so far */
  stderr_bytes?: number;
  truncated?: {
    stdout: boolean;
    stderr: boolean;
  };
  output_handle?: string | null;
  result?: {
    text: string;
    json: unknown;
  } | null;
  displays?: Display[];
  /** displayed and not listed */
  displays_more?: number;
  error?: {
    name: string;
    message: string;
    traceback: string | null;
    line: number | null;
    column?: number;
    hint: string | null;
    said_by: "program" | "belljar";
  } | null;
  /** what to do about commands that failed */
  hint?: string | null;
  violations?: Violation[];
  /** found and not listed */
  violations_more?: number;
  usage?: {
    wall_ms: number;
    cpu_ms: number;
    memory_peak_bytes: number;
    start_ms: number;
    processes_peak: number;
  };
  masked?: { [name: string]: unknown };
  /** connections to granted hosts; null where none is granted */
  net?: {
    connections?: number;
    sent_bytes?: number;
    received_bytes?: number;
    refused?: ({
      host?: string;
      port?: number;
      why?: string;
      /** what in `net` would allow it */
      grant?: string | null;
    })[];
    refused_more?: number;
  } | null;
  /** what was refused while the program ran: hosts, writes, calls, limits */
  denials?: ({
    /** such as `connect to example.org:443` */
    what: string;
    /** who refused it */
    layer: string;
    /** what would allow it */
    hint: string | null;
    count: number;
  })[];
  /** refused and not listed */
  denials_more?: number;
  /** what was changed in directories granted with `:rw`; not there without one */
  changes?: {
    created: number;
    /** files opened for writing count */
    changed: number;
    removed: number;
    renamed: number;
    /** whether the run can be undone */
    undo: boolean;
  };
  files?: File[];
  files_gone?: string[];
  files_truncated?: boolean;
  session_id?: string | null;
  /** of a cell: whether the variables of its session are still there */
  session_state?: string | null;
  correlation_id?: string | null;
  receipt?: { [name: string]: unknown };
  profile?: string | null;
  isolation?: string;
  layers?: string[];
  collected?: ({
    path: string;
    size: number;
    encoding: string | null;
    content: string | null;
  })[];
  collected_truncated?: boolean;
  /** of a cell that was interrupted, by its time limit or a client: how long it took to end, and how long it might have taken before its kernel is killed (`interrupt_grace_s`) */
  interrupt?: {
    waited_ms: number;
    grace_ms: number;
  };
  deterministic?: {
    seed?: number;
    fingerprint?: string;
    caveats?: string[];
  } | null;
};

/** one form of an object that the program displayed; forms of one object have the same `bundle` */
export type Display = {
  bundle: number;
  mime: string;
  /** text, or JSON, or bytes as base64 if `encoding` says so */
  data: unknown;
  encoding?: string;
  width?: number;
  height?: number;
};

/** a reason why the profile refuses the program */
export type Violation = {
  rule: string;
  name: string | null;
  line: number | null;
  column: number | null;
  message: string;
  hint: string | null;
};

/** the data of each kind of event in the streams of runs */
export type Events = {
  start?: {
    id: string;
    correlation_id?: string;
  };
  stdout?: Text;
  stderr?: Text;
  display?: {
    displays: Display[];
  };
  progress?: {
    done: number;
    total: number | null;
    text: string;
  };
  approval?: Approval;
  /** the program waits for a line of its standard input */
  input?: {
    run_id: string;
    expires_in_s: number;
    /** what is typed is not to be shown: a password */
    hidden: boolean;
  };
  /** events that are no longer kept */
  gap?: {
    missed: number;
  };
  /** output that is not kept */
  dropped?: {
    stream: "stdout" | "stderr";
    bytes: number;
  };
  /** the end of what there is so far, for `wait=false` */
  running?: {
    id: string;
  };
  result?: Result;
  error?: Error;
};

/** a part of an output; `offset` is where it begins, in bytes */
export type Text = {
  text: string;
  offset?: number;
};

export type Batch = {
  runs: ({
    index: number;
    id: string | null;
    verdict: "accepted" | "wrong_answer" | "output_exceeded" | "error" | "timeout" | "memory_exceeded" | "refused" | "cancelled" | "failed";
    result?: Result;
    error?: {
      code: string;
      message: string;
      hint: string | null;
    };
  })[];
  summary: {
    total: number;
    verdicts: { [name: string]: number };
    wall_ms: number;
  };
};

export type Session = {
  session_id: string;
  owner?: string;
  /** the session of which it is a fork */
  parent?: string | null;
  name: string;
  profile?: string;
  state: "starting" | "idle" | "busy" | "paused";
  cells?: number;
  waiting?: number;
  /** commands that run beside its kernels */
  commands?: number;
  idle_s?: number;
  idle_limit_s?: number | null;
  lifetime_s?: number | null;
  limits?: {
    /** wall-clock limit of a run or cell */
    timeout_s?: number;
    /** CPU time that all processes of a run or cell may use together; 0: no limit */
    cpu_time_s?: number;
    /** bytes kept of stdout, and of stderr; of longer output the middle is dropped */
    output_bytes?: number;
    /** memory of all processes of a program and of the files it writes */
    memory_mb?: number;
    /** share of the processor, in cores (0.5 is half of one); 0: no limit */
    cpus?: number;
    /** processes and threads at once */
    pids?: number;
    /** space for files written outside allowed directories; it also counts as memory */
    disk_mb?: number;
  };
  /** where code starts */
  workdir?: string;
  /** directories it has: DIR, DIR:rw, DIR:cow */
  allow?: string[];
  /** hosts that it may reach */
  net?: string[];
  /** ports of servers in it that clients reach */
  ports?: string[];
  /** when it is opened: the sessions that ended to make room for it (`session_evict`) */
  evicted?: string[] | null;
};

export type Copied = {
  sessions?: Session[];
  lost?: unknown[];
  /** of a fork with directories: what the copies share, and what each has of its own */
  shared?: string | null;
  /** of a fork: the sessions that ended to make room for the copies (`session_evict`) */
  evicted?: string[] | null;
  session?: Session;
  held_ms?: number;
  total_ms?: number;
};

export type Sessions = {
  sessions: Session[];
};

export type Files = {
  files: {
    path: string;
    kind: string;
    size: number;
    mode?: string;
    owner?: string;
    /** seconds since 1970 */
    modified?: number;
    /** the same, also after a change of mode or name */
    changed?: number;
  }[];
  has_more: boolean;
  is_partial?: boolean;
};

export type SkillHead = {
  name: string;
  module: string;
  kind: "public" | "user";
  is_folder: boolean;
  description: string | null;
  version: number;
  updated_at: string | null;
  bytes: number;
};

export type Skills = {
  skills: SkillHead[];
};

export type Skill = SkillHead & {
  files: {
    path?: string;
    bytes?: number;
    is_executable?: boolean;
  }[];
  versions: Versions;
  code: string | null;
  instructions: string | null;
};

export type Versions = {
  version?: number;
  timestamp?: string;
  bytes?: number;
}[];

export type SkillSaved = {
  name: string;
  module: string;
  version: number;
};

export type SkillVersion = {
  name: string;
  version: number;
};

export type JobHead = {
  id: string;
  state: "waiting" | "running" | "done" | "failed" | "lost" | "cancelled";
  /** of the last attempt: the status of its result, `failed` or `interrupted` */
  outcome: string | null;
  /** how often it was begun */
  attempts: number;
  max_attempts: number;
  repeatable: boolean;
  retry_on: string[];
  retry_delay_s: number;
  keep_s: number;
  correlation_id: string;
  created_at: string;
  /** not begun, or begun again, before */
  due_at: string;
  ended_at: string | null;
  /** when it is deleted */
  expires_at: string | null;
  /** 0: there is no result */
  result_bytes: number;
  error: {
    code: string;
    message: string;
    hint: string | null;
  } | null;
  /** as the program said last; null when no attempt is under way */
  progress: {
    done: number;
    /** 0: not known */
    total: number;
    text: string;
  } | null;
};

export type JobAttempt = {
  number: number;
  run_id: string;
  started_at: string;
  ended_at: string | null;
  outcome: string | null;
};

export type Job = JobHead & {
  history: JobAttempt[];
};

export type Jobs = {
  jobs: JobHead[];
};

export type WorkHead = {
  name: string;
  description: string | null;
  created_at: string;
  updated_at: string;
  version: number;
  bytes?: number;
};

export type Works = {
  states: WorkHead[];
};

export type Work = WorkHead & {
  state: { [name: string]: unknown };
  history: Versions;
};

export type WorkMade = {
  name: string;
  is_new: boolean;
};

export type WorkSaved = {
  name: string;
  version: number;
};

export type File = {
  path: string;
  size: number;
};

export type Output = {
  text?: string;
  size?: number;
  lines?: number;
  dropped?: number;
  /** where the next part begins */
  next?: {
    offset?: number;
    line?: number;
  } | null;
  matches?: {
    line: number;
    offset: number;
    text: string;
    start: number;
    end: number;
    is_piece: boolean;
  }[];
};

export type ValidationError = {
  detail: ({
    type: string;
    loc: (string | number)[];
    msg: string;
    input: unknown;
  })[];
};

export type Approved = {
  approved: boolean;
};

/** a call that waits for a yes or a no */
export type Approval = {
  approval_id: string;
  run_id: string;
  session_id?: string;
  owner?: string;
  call: string;
  arguments?: unknown;
  sha256: string;
  /** bytes of the arguments that are not shown */
  hidden_bytes: number;
  has_invisible: boolean;
  expires_in_s: number;
};

export type Approvals = {
  approvals: Approval[];
};

export type RunHead = {
  id: string;
  state: "waiting" | "running" | "success" | "error" | "timeout" | "memory_exceeded" | "refused" | "cancelled" | "failed" | "unfinished";
  language: string | null;
  /** of a cell, or of a command in a session */
  session_id: string | null;
  profile?: string | null;
  detached: boolean;
  /** of a command: it has a terminal */
  terminal?: boolean;
  /** since it was asked for; null: it is known from the audit trail only */
  age_s: number | null;
  exit_code: number | null;
  owner: string | null;
  /** the beginning of its first line */
  code: string;
  started_at: string | null;
  ended_at?: string | null;
  wall_ms?: number | null;
  cpu_ms?: number | null;
  memory_peak_bytes?: number | null;
  masked?: number | null;
  violations?: number;
  /** `GET /v1/runs/{run}` has the answer, or will */
  is_kept: boolean;
  /** number of its last record in the audit trail */
  seq: number | null;
};

export type Runs = {
  runs: RunHead[];
  /** with `history`: `before` of the next page; null: there is none */
  next: number | null;
  /** with `history`: `after` for what ends later */
  newest: number | null;
};

export type RunRecord = {
  id: string;
  owner: string | null;
  state: string;
  code: {
    /** masked; null: it is not kept */
    text: string | null;
    bytes: number | null;
    sha256: string | null;
    masked: number;
    hidden_bytes: number;
  } | null;
  /** the record of its beginning */
  start: { [name: string]: unknown } | null;
  /** the record of its end */
  end: { [name: string]: unknown } | null;
  calls: { [name: string]: unknown }[];
  net: { [name: string]: unknown }[];
  inputs: { [name: string]: unknown }[];
  undo: { [name: string]: unknown }[];
  has_more: boolean;
  previous: string | null;
  next: string | null;
};

export type Cells = {
  cells: ({
    id: string;
    state: string;
    language: string;
    /** masked; null: it is too long to be kept */
    code: string | null;
    /** the answer is there, also where `result` is null because it is too long for the list */
    is_kept: boolean;
    result: unknown;
  })[];
  has_more: boolean;
};

export type ConsoleCode = {
  code: string;
  expires_in_s: number;
  /** of the page, with the code behind `#` */
  path: string;
  /** where the server listens, as it was told */
  origin: string | null;
  has_console: boolean;
};

export type ConsoleToken = {
  token: string;
  expires_in_s: number;
  /** of the token whose rights it has */
  name: string;
  operator: boolean;
};

export type Variables = {
  variables: {
    name: string;
    type: string;
    summary: string;
  }[];
  has_more: boolean;
};

export type Commands = {
  commands: RunHead[];
};

export type Moved = {
  path: string;
};

export type Cancelled = {
  cancelled: boolean;
};

export type Interrupted = {
  interrupted: boolean;
};

export type Context = {
  context_id: string;
  language: string;
  /** where it started, as it was asked for */
  workdir: string | null;
};

export type Contexts = {
  contexts: Context[];
};

export type Snapshots = {
  snapshots: {
    name: string;
    /** of the session it was made of */
    session_id: string;
    profile: string;
    age_s: number;
    /** of memory that it takes */
    bytes: number;
    /** false: it was lost with the interpreter that it is of */
    usable: boolean;
  }[];
};

export type Checkpoints = {
  checkpoints: string[];
};

export type Changes = {
  changes: ({
    path: string;
    change: "created" | "changed" | "deleted";
    kind: string;
    old_kind: string;
    size: number;
    old_size: number;
    mode: string | null;
    old_mode: string | null;
    added: number | null;
    removed: number | null;
    is_binary: boolean;
    has_invisible: boolean;
    hidden_bytes: number;
    not_shown: string | null;
    sha256: string | null;
    obstacle: string | null;
    diff?: string | null;
  })[];
  has_more: boolean;
  version: string;
  hidden_bytes: number;
};

export type Settled = {
  version: string;
  done: string[];
  skipped: {
    path: string;
    reason: string;
    message: string;
  }[];
};

export type Undo = {
  run: string;
  dry_run: boolean;
  /** the id by which this undo can be undone */
  undo: string | null;
  done: ({
    action: "removed" | "restored" | "reverted" | "renamed";
    path: string;
    to?: string;
  })[];
  /** what was left alone */
  conflicts: ({
    action: "removed" | "restored" | "reverted" | "renamed";
    path: string;
    to?: string;
    reason: string;
  })[];
  /** all of them; the lists end at 10000 together */
  n_done: number;
  n_conflicts: number;
  already_undone: boolean;
};

export type Undoable = {
  runs: ({
    run: string;
    session?: string | null;
    time: string;
    /** of an undo: the run that it took back */
    undoes?: string | null;
    undone: boolean;
    is_running: boolean;
    directories: string[];
    created?: number | null;
    changed?: number | null;
    removed?: number | null;
    renamed?: number | null;
    /** the record was removed to make room: the run cannot be undone any more */
    removed_for_space?: boolean;
  })[];
};

export type Caller = {
  name: string;
  running: number;
  waiting: number;
  done: number;
  refused: number;
};

export type Stats = {
  you: Caller;
  server?: {
    runs: { [name: string]: number };
    queue: {
      running: number;
      waiting: number;
      max_running: number;
      max_waiting: number;
    };
    pool: {
      idle: number;
      wanted: number;
      made: number;
    };
    sessions: number;
    connections: number;
    cpu_s: number;
    resident_bytes: number;
    tokens: Caller[];
  };
  /** at a gateway: the same of each node, with its name as `node`; the rest is their sum */
  nodes?: { [name: string]: unknown }[];
  /** at a gateway: nodes that have not answered */
  nodes_missing?: string[];
};

export type ClusterNodes = {
  gateway: string;
  version: string;
  nodes: ClusterNode[];
};

export type ClusterNode = {
  node: string;
  state: "ready" | "draining" | "no_engine" | "lost";
  version: string;
  /** since its last heartbeat */
  silent_s: number;
  /** by how much its clock is ahead of the gateway's */
  clock_off_ms?: number;
  /** runs that could begin at once */
  room?: number;
  running?: number;
  waiting?: number;
  sessions?: number;
  /** of gateways, under way */
  requests?: number;
  labels?: string[] | null;
  /** that it serves; null: any */
  profiles?: string[] | null;
  environments?: string[] | null;
  /** ended ones, by status; null: its engine has not answered */
  runs?: { [name: string]: number } | null;
  queue?: { [name: string]: unknown } | null;
  pool?: { [name: string]: unknown } | null;
  cpu_s?: number | null;
  resident_bytes?: number | null;
};

export type HostLanguages = {
  languages: {
    name: string;
    title: string;
    aliases: string[];
    suffixes: string[];
    /** the host has what it needs */
    available: boolean;
    /** packages of Debian */
    needs: string[];
  }[];
  default: string;
};

export type OpenApi = {
  openapi: string;
  info: { [name: string]: unknown };
  paths: { [name: string]: unknown };
  components: { [name: string]: unknown };
};

export type AuditRow = {
  /** the number of the record */
  seq: number;
  time: string;
  kind: string;
  event?: string | null;
  /** of the run or session */
  id?: string | null;
  owner?: string | null;
  session_id?: string | null;
  status?: string | null;
  profile?: string | null;
  /** the first line of a program, masked */
  summary?: string | null;
  wall_ms?: number | null;
};

export type AuditList = {
  records: AuditRow[];
  /** `before` of the next page; null: there is none */
  next?: number | null;
  /** `after` for what comes later */
  newest?: number | null;
  /** at a gateway: nodes that have not answered */
  nodes_missing?: string[];
};

export type AuditLines = {
  /** empty: there is none after it */
  lines: string[];
  /** the public key of the trail */
  pem: string;
};

export type AuditKey = {
  key: string;
  pem: string;
};

export type ReceiptChecked = {
  is_genuine: boolean;
  /** why it is not */
  why: string | null;
  id: string;
  status: string;
  time: string;
  seq: string;
  key: string;
  /** whether the trail has that very record; for operators */
  is_in_trail: boolean | null;
};

export type AuditRecords = {
  /** as they were recorded, oldest first */
  records: { [name: string]: unknown }[];
  /** more records have that id than one answer holds */
  has_more: boolean;
};

export type AuditHead = {
  v: number;
  seq: number;
  hash: string;
  time: string;
  key: string;
  signature: string;
};

export type AuditVerified = {
  valid: boolean;
  records: number;
  files: number;
  bytes: number;
  problems: number;
  /** records after the last signature */
  unsigned: number;
  last_time: string | null;
  /** the first 100 */
  findings: {
    is_problem: boolean;
    text: string;
  }[];
};

export type Settings = {
  settings: { [name: string]: {
    value: unknown;
    from: string | null;
    reloadable: boolean;
  } };
};

export type Token = {
  name: string;
  operator: boolean;
  /** may use directories that the settings allow */
  grants: boolean;
  /** empty: any */
  profiles: string[];
  /** limits of this token, by name */
  limits: { [name: string]: unknown };
  /** of each allowance that it has, by name; flows back evenly */
  used: { [name: string]: number };
  running: number;
  waiting: number;
  /** since the server started */
  done: number;
  refused: number;
  created_at: string | null;
  /** since the server started */
  last_used_at: string | null;
};

export type Me = Token & {
  /** it is the token of a page of the web console */
  is_page: boolean;
};

export type NewToken = {
  name: string;
  /** not shown again */
  token: string;
};

/** the report of `belljar doctor --json` */
export type Doctor = { [name: string]: unknown };

export type Tokens = {
  tokens: Token[];
};

/** Every route: parts of its path, its query, its body as JSON or bytes, whether it takes an idempotency key, its answer. */
export interface Routes {
  /** run a command in the sandbox of a session, beside its cells */
  "POST /v1/sessions/{session}/commands": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: {
      /** a line for Bash; or `args` */
      command?: string;
      /** the program and its arguments, started without a shell; or `command` */
      args?: string[];
      /** variables to set besides the session's */
      env?: { [name: string]: string };
      /** where it starts; without it, where the session's code does */
      workdir?: string;
      /** its standard input; without it, /dev/null */
      stdin?: string;
      /** its standard input stays open for what is sent later */
      stdin_open?: boolean;
      /** it runs on a terminal of that size: one stream of output, and input until its end */
      pty?: {
        /** columns */
        cols: number;
        /** rows */
        rows: number;
      };
      /** answer at once with the id; the command goes on without the client */
      background?: boolean;
      /** comes back with the answer; one is made up without it */
      correlation_id?: string;
      /** also return a signed receipt */
      receipt?: boolean;
      /** wall-clock limit of a run or cell */
      timeout_s?: number;
      /** CPU time that all processes of a run or cell may use together; 0: no limit */
      cpu_time_s?: number;
      /** bytes kept of stdout, and of stderr; of longer output the middle is dropped */
      output_bytes?: number;
    };
    bytes: false;
    key: true;
    answer: Result;
  };
  /** the commands of a session, the last first */
  "GET /v1/sessions/{session}/commands": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: Commands;
  };
  /** the answer of a command, or its output so far; as events, what follows, too */
  "GET /v1/sessions/{session}/commands/{command}": {
    parts: {
      session: string;
      command: string;
    };
    query: {
      /** of events: bytes that you have */
      stdout?: number;
      /** of events: bytes that you have */
      stderr?: number;
      /** false: events of the output so far; the last is `running` */
      wait?: boolean;
    };
    json: never;
    bytes: false;
    key: false;
    answer: Result;
  };
  /** kill a command and what it started */
  "DELETE /v1/sessions/{session}/commands/{command}": {
    parts: {
      session: string;
      command: string;
    };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: Cancelled;
  };
  /** write to the standard input of a command, or close it */
  "POST /v1/sessions/{session}/commands/{command}/stdin": {
    parts: {
      session: string;
      command: string;
    };
    query: { [name: string]: never };
    json: {
      /** what it reads next */
      text?: string;
      /** the same as bytes, encoded */
      base64?: string;
      /** its standard input ends after that */
      close?: boolean;
    };
    bytes: false;
    key: false;
    answer: never;
  };
  /** send a signal to a command and what it started */
  "POST /v1/sessions/{session}/commands/{command}/signal": {
    parts: {
      session: string;
      command: string;
    };
    query: { [name: string]: never };
    json: {
      /** for the command and what it started */
      signal: "TERM" | "KILL" | "INT" | "HUP" | "QUIT" | "USR1" | "USR2" | "STOP" | "CONT" | "WINCH";
    };
    bytes: false;
    key: false;
    answer: never;
  };
  /** set the size of the terminal of a command */
  "POST /v1/sessions/{session}/commands/{command}/resize": {
    parts: {
      session: string;
      command: string;
    };
    query: { [name: string]: never };
    json: {
      /** columns */
      cols: number;
      /** rows */
      rows: number;
    };
    bytes: false;
    key: false;
    answer: never;
  };
  /** the terminal of a command, on a WebSocket */
  "GET /v1/sessions/{session}/commands/{command}/terminal": {
    parts: {
      session: string;
      command: string;
    };
    query: {
      /** bytes of output that you have; without it, the last 64 KiB come again */
      after?: number;
    };
    json: never;
    bytes: false;
    key: false;
    answer: never;
  };
  /** everything that happens to the caller's runs and sessions, as events; with `all`, to everybody's, for operators */
  "GET /v1/events": {
    parts: { [name: string]: never };
    query: {
      /** of all tokens; for operators */
      all?: boolean;
      /** some of run, command, session, approval and change, with commas (default: all) */
      kinds?: string;
      /** only what belongs to the session with this id */
      session?: string;
    };
    json: never;
    bytes: false;
    key: false;
    answer: never;
  };
  /** run a program in a fresh sandbox and answer with its result */
  "POST /v1/run": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: {
      /** the program */
      code: string;
      /** default: python */
      language?: "python" | "bash" | "javascript" | "typescript";
      /** its standard input */
      stdin?: string;
      /** echo the last expression, as the Python prompt does */
      auto_print?: boolean;
      /** comes back with the answer; one is made up without it */
      correlation_id?: string;
      /** also return a signed receipt */
      receipt?: boolean;
      /** name of its profile */
      profile?: string;
      /** variables to set inside */
      env?: { [name: string]: string };
      /** name of the environment with its packages */
      environment?: string;
      /** directories of the host that it sees at their own place: DIR, DIR:rw to write, or DIR:cow (sessions): what it writes waits to be applied or discarded */
      allow?: string[];
      /** where it starts: /workspace or a granted directory; without it, the granted directory if there is one */
      workdir?: string;
      /** hosts that it may reach, of those that the operator allows: api.example.org:443, *.example.org, http://HOST:PORT/PATH/ */
      net?: string[];
      /** wall-clock limit of a run or cell */
      timeout_s?: number;
      /** CPU time that all processes of a run or cell may use together; 0: no limit */
      cpu_time_s?: number;
      /** bytes kept of stdout, and of stderr; of longer output the middle is dropped */
      output_bytes?: number;
      /** memory of all processes of a program and of the files it writes */
      memory_mb?: number;
      /** share of the processor, in cores (0.5 is half of one); 0: no limit */
      cpus?: number;
      /** processes and threads at once */
      pids?: number;
      /** space for files written outside allowed directories; it also counts as memory */
      disk_mb?: number;
      /** name of the program, in tracebacks and as its own name */
      filename?: string;
      /** its arguments */
      args?: string[];
      /** the same program and input give the same output */
      seed?: number;
      /** answer at once with the id; the run goes on without the client */
      detach?: boolean;
      /** files to put into /workspace before it starts */
      files?: ({
        /** path below /workspace */
        path: string;
        /** what is in it */
        content: string;
        /** encoding of `content` (default utf-8) */
        encoding?: "utf-8" | "base64";
        /** whether it is a program */
        executable?: boolean;
      })[];
      /** patterns of files to bring back, such as *.csv or ** /*.png */
      collect?: string[];
    };
    bytes: false;
    key: true;
    answer: Result;
  };
  /** check a program and run nothing: refused code, syntax errors, missing modules */
  "POST /v1/check": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: {
      /** the program */
      code: string;
      /** default: python */
      language?: "python" | "bash" | "javascript" | "typescript";
      /** its standard input */
      stdin?: string;
      /** echo the last expression, as the Python prompt does */
      auto_print?: boolean;
      /** comes back with the answer; one is made up without it */
      correlation_id?: string;
      /** also return a signed receipt */
      receipt?: boolean;
      /** name of its profile */
      profile?: string;
      /** variables to set inside */
      env?: { [name: string]: string };
      /** name of the environment with its packages */
      environment?: string;
      /** directories of the host that it sees at their own place: DIR, DIR:rw to write, or DIR:cow (sessions): what it writes waits to be applied or discarded */
      allow?: string[];
      /** where it starts: /workspace or a granted directory; without it, the granted directory if there is one */
      workdir?: string;
      /** hosts that it may reach, of those that the operator allows: api.example.org:443, *.example.org, http://HOST:PORT/PATH/ */
      net?: string[];
      /** wall-clock limit of a run or cell */
      timeout_s?: number;
      /** CPU time that all processes of a run or cell may use together; 0: no limit */
      cpu_time_s?: number;
      /** bytes kept of stdout, and of stderr; of longer output the middle is dropped */
      output_bytes?: number;
      /** memory of all processes of a program and of the files it writes */
      memory_mb?: number;
      /** share of the processor, in cores (0.5 is half of one); 0: no limit */
      cpus?: number;
      /** processes and threads at once */
      pids?: number;
      /** space for files written outside allowed directories; it also counts as memory */
      disk_mb?: number;
      /** name of the program, in tracebacks and as its own name */
      filename?: string;
      /** its arguments */
      args?: string[];
      /** the same program and input give the same output */
      seed?: number;
      /** answer at once with the id; the run goes on without the client */
      detach?: boolean;
      /** files to put into /workspace before it starts */
      files?: ({
        /** path below /workspace */
        path: string;
        /** what is in it */
        content: string;
        /** encoding of `content` (default utf-8) */
        encoding?: "utf-8" | "base64";
        /** whether it is a program */
        executable?: boolean;
      })[];
      /** patterns of files to bring back, such as *.csv or ** /*.png */
      collect?: string[];
    };
    bytes: false;
    key: true;
    answer: Result;
  };
  /** the caller's runs, the last first: what waits, runs, or is kept; with `history`, also those of the audit trail */
  "GET /v1/runs": {
    parts: { [name: string]: never };
    query: {
      /** live: only those that wait or run */
      state?: "live" | "any";
      /** only cells of this session (name or id) */
      session?: string;
      /** at most so many (default 100) */
      limit?: number;
      /** also runs of the audit trail, a page at a time */
      history?: boolean;
      /** of all tokens; for operators */
      all?: boolean;
      /** only runs with this status */
      status?: "waiting" | "running" | "success" | "error" | "timeout" | "memory_exceeded" | "refused" | "cancelled" | "failed" | "unfinished";
      /** only runs of this language */
      language?: string;
      /** only those of this token */
      owner?: string;
      /** only records that contain this text, without regard to case */
      text?: string;
      /** 2h, 7d, 2026-01-31 or 2026-01-31T12:00 (UTC) */
      since?: string;
      /** like `since` */
      until?: string;
      /** only records after the one with this number */
      after?: number;
      /** only records before the one with this number: `next` of the page before */
      before?: number;
    };
    json: never;
    bytes: false;
    key: false;
    answer: Runs;
  };
  /** what the audit trail has of a run: program, terms, end, calls, connections; also for operators */
  "GET /v1/runs/{run}/record": {
    parts: {
      run: string;
    };
    query: {
      /** `previous` and `next` are of all tokens; for operators */
      all?: boolean;
    };
    json: never;
    bytes: false;
    key: false;
    answer: RunRecord;
  };
  /** the answer of a run, kept for a while; `status` is `running` until then */
  "GET /v1/runs/{run}": {
    parts: {
      run: string;
    };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: Result;
  };
  /** the events of a run after the one in `Last-Event-ID` */
  "GET /v1/runs/{run}/events": {
    parts: {
      run: string;
    };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: never;
  };
  /** the output of a run so far and what follows, as events, then its result */
  "GET /v1/runs/{run}/follow": {
    parts: {
      run: string;
    };
    query: {
      /** bytes of it that you have */
      stdout?: number;
      /** bytes of it that you have */
      stderr?: number;
      /** false: only the output so far; the last event is `running` */
      wait?: boolean;
    };
    json: never;
    bytes: false;
    key: false;
    answer: never;
  };
  /** the line that a cell with `stdin_open` asked for with the event `input` */
  "POST /v1/runs/{run}/stdin": {
    parts: {
      run: string;
    };
    query: { [name: string]: never };
    json: {
      /** the line; without it, an empty one */
      text?: string;
      /** there are no more; without `text`, not even this one */
      close?: boolean;
    };
    bytes: false;
    key: false;
    answer: never;
  };
  /** stop a run; its result, with the output so far, goes to the waiting client */
  "POST /v1/runs/{run}/cancel": {
    parts: {
      run: string;
    };
    query: { [name: string]: never };
    json: { [name: string]: never };
    bytes: false;
    key: false;
    answer: Cancelled;
  };
  /** calls of your programs that wait for approval; with `all`, of everybody's, for operators */
  "GET /v1/approvals": {
    parts: { [name: string]: never };
    query: {
      /** of all tokens; for operators */
      all?: boolean;
    };
    json: never;
    bytes: false;
    key: false;
    answer: Approvals;
  };
  /** approve or refuse a call that a run waits for; also for operators */
  "POST /v1/runs/{run}/approve": {
    parts: {
      run: string;
    };
    query: { [name: string]: never };
    json: {
      /** true: the call continues; false: it is refused */
      approve: boolean;
      /** id of the question */
      approval_id: string;
      /** `hidden_bytes` of the question: approve it although so much of it was not shown */
      accept_hidden?: number;
      /** hash from the question: only this call, with these arguments */
      sha256?: string;
    };
    bytes: false;
    key: false;
    answer: Approved;
  };
  /** approve or refuse a call that a session's cell waits for; also for operators */
  "POST /v1/sessions/{session}/approve": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: {
      /** true: the call continues; false: it is refused */
      approve: boolean;
      /** id of the question */
      approval_id: string;
      /** `hidden_bytes` of the question: approve it although so much of it was not shown */
      accept_hidden?: number;
      /** hash from the question: only this call, with these arguments */
      sha256?: string;
    };
    bytes: false;
    key: false;
    answer: Approved;
  };
  /** run up to 1000 programs, each in a fresh sandbox, and answer as they end */
  "POST /v1/batch": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: {
      /** the programs to run; a field missing in one is taken from the fields next to this list */
      runs: ({
        /** comes back with its answer */
        id?: string;
        /** the program */
        code?: string;
        /** default: python */
        language?: "python" | "bash" | "javascript" | "typescript";
        /** its standard input */
        stdin?: string;
        /** echo the last expression, as the Python prompt does */
        auto_print?: boolean;
        /** comes back with the answer; one is made up without it */
        correlation_id?: string;
        /** also return a signed receipt */
        receipt?: boolean;
        /** name of its profile */
        profile?: string;
        /** variables to set inside */
        env?: { [name: string]: string };
        /** name of the environment with its packages */
        environment?: string;
        /** directories of the host that it sees at their own place: DIR, DIR:rw to write, or DIR:cow (sessions): what it writes waits to be applied or discarded */
        allow?: string[];
        /** where it starts: /workspace or a granted directory; without it, the granted directory if there is one */
        workdir?: string;
        /** hosts that it may reach, of those that the operator allows: api.example.org:443, *.example.org, http://HOST:PORT/PATH/ */
        net?: string[];
        /** wall-clock limit of a run or cell */
        timeout_s?: number;
        /** CPU time that all processes of a run or cell may use together; 0: no limit */
        cpu_time_s?: number;
        /** bytes kept of stdout, and of stderr; of longer output the middle is dropped */
        output_bytes?: number;
        /** memory of all processes of a program and of the files it writes */
        memory_mb?: number;
        /** share of the processor, in cores (0.5 is half of one); 0: no limit */
        cpus?: number;
        /** processes and threads at once */
        pids?: number;
        /** space for files written outside allowed directories; it also counts as memory */
        disk_mb?: number;
        /** the same program and input give the same output */
        seed?: number;
        /** name of the program, in tracebacks and as its own name */
        filename?: string;
        /** its arguments */
        args?: string[];
        /** files to put into /workspace before it starts */
        files?: ({
          /** path below /workspace */
          path: string;
          /** what is in it */
          content: string;
          /** encoding of `content` (default utf-8) */
          encoding?: "utf-8" | "base64";
          /** whether it is a program */
          executable?: boolean;
        })[];
        /** patterns of files to bring back, such as *.csv or ** /*.png */
        collect?: string[];
        /** its expected standard output */
        expected_output?: string;
        /** lines: white space at the end of lines and of the whole does not count; exact; tokens: white space only separates */
        compare?: "lines" | "exact" | "tokens";
      })[];
      /** run at most so many of them at a time */
      at_once?: number;
      /** the program */
      code?: string;
      /** default: python */
      language?: "python" | "bash" | "javascript" | "typescript";
      /** its standard input */
      stdin?: string;
      /** echo the last expression, as the Python prompt does */
      auto_print?: boolean;
      /** comes back with the answer; one is made up without it */
      correlation_id?: string;
      /** also return a signed receipt */
      receipt?: boolean;
      /** name of its profile */
      profile?: string;
      /** variables to set inside */
      env?: { [name: string]: string };
      /** name of the environment with its packages */
      environment?: string;
      /** directories of the host that it sees at their own place: DIR, DIR:rw to write, or DIR:cow (sessions): what it writes waits to be applied or discarded */
      allow?: string[];
      /** where it starts: /workspace or a granted directory; without it, the granted directory if there is one */
      workdir?: string;
      /** hosts that it may reach, of those that the operator allows: api.example.org:443, *.example.org, http://HOST:PORT/PATH/ */
      net?: string[];
      /** wall-clock limit of a run or cell */
      timeout_s?: number;
      /** CPU time that all processes of a run or cell may use together; 0: no limit */
      cpu_time_s?: number;
      /** bytes kept of stdout, and of stderr; of longer output the middle is dropped */
      output_bytes?: number;
      /** memory of all processes of a program and of the files it writes */
      memory_mb?: number;
      /** share of the processor, in cores (0.5 is half of one); 0: no limit */
      cpus?: number;
      /** processes and threads at once */
      pids?: number;
      /** space for files written outside allowed directories; it also counts as memory */
      disk_mb?: number;
      /** the same program and input give the same output */
      seed?: number;
      /** name of the program, in tracebacks and as its own name */
      filename?: string;
      /** its arguments */
      args?: string[];
      /** files to put into /workspace before it starts */
      files?: ({
        /** path below /workspace */
        path: string;
        /** what is in it */
        content: string;
        /** encoding of `content` (default utf-8) */
        encoding?: "utf-8" | "base64";
        /** whether it is a program */
        executable?: boolean;
      })[];
      /** patterns of files to bring back, such as *.csv or ** /*.png */
      collect?: string[];
      /** its expected standard output */
      expected_output?: string;
      /** lines: white space at the end of lines and of the whole does not count; exact; tokens: white space only separates */
      compare?: "lines" | "exact" | "tokens";
    };
    bytes: false;
    key: true;
    answer: Batch;
  };
  /** accept a program that is run even if the server ends meanwhile: the job is on the disk when this is answered */
  "POST /v1/jobs": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: {
      /** the program */
      code: string;
      /** default: python */
      language?: "python" | "bash" | "javascript" | "typescript";
      /** its standard input */
      stdin?: string;
      /** echo the last expression, as the Python prompt does */
      auto_print?: boolean;
      /** comes back with the answer; one is made up without it */
      correlation_id?: string;
      /** also return a signed receipt */
      receipt?: boolean;
      /** name of its profile */
      profile?: string;
      /** variables to set inside */
      env?: { [name: string]: string };
      /** name of the environment with its packages */
      environment?: string;
      /** directories of the host that it sees at their own place: DIR, DIR:rw to write, or DIR:cow (sessions): what it writes waits to be applied or discarded */
      allow?: string[];
      /** where it starts: /workspace or a granted directory; without it, the granted directory if there is one */
      workdir?: string;
      /** hosts that it may reach, of those that the operator allows: api.example.org:443, *.example.org, http://HOST:PORT/PATH/ */
      net?: string[];
      /** wall-clock limit of a run or cell */
      timeout_s?: number;
      /** CPU time that all processes of a run or cell may use together; 0: no limit */
      cpu_time_s?: number;
      /** bytes kept of stdout, and of stderr; of longer output the middle is dropped */
      output_bytes?: number;
      /** memory of all processes of a program and of the files it writes */
      memory_mb?: number;
      /** share of the processor, in cores (0.5 is half of one); 0: no limit */
      cpus?: number;
      /** processes and threads at once */
      pids?: number;
      /** space for files written outside allowed directories; it also counts as memory */
      disk_mb?: number;
      /** name of the program, in tracebacks and as its own name */
      filename?: string;
      /** its arguments */
      args?: string[];
      /** the same program and input give the same output */
      seed?: number;
      /** files to put into /workspace before it starts */
      files?: ({
        /** path below /workspace */
        path: string;
        /** what is in it */
        content: string;
        /** encoding of `content` (default utf-8) */
        encoding?: "utf-8" | "base64";
        /** whether it is a program */
        executable?: boolean;
      })[];
      /** patterns of files to bring back, such as *.csv or ** /*.png */
      collect?: string[];
      /** the highest number of attempts (default 3) */
      max_attempts?: number;
      /** false: begin it once at most; if the server ends meanwhile, the job is `lost` (default true) */
      repeatable?: boolean;
      /** statuses of results after which it is tried again: error, timeout, memory_exceeded (default: none) */
      retry_on?: string[];
      /** seconds before the second attempt, then twice as long each time, up to an hour (default 5) */
      retry_delay_s?: number;
      /** do not begin before so many seconds have passed */
      delay_s?: number;
      /** keep the job and its result for so long after its end (default 86400) */
      keep_s?: number;
    };
    bytes: false;
    key: true;
    answer: Job;
  };
  /** the caller's durable jobs, the newest first */
  "GET /v1/jobs": {
    parts: { [name: string]: never };
    query: {
      /** only those in this state */
      state?: "waiting" | "running" | "done" | "failed" | "lost" | "cancelled";
      /** only jobs that are older than this id */
      before?: string;
      /** at most so many (default 100) */
      limit?: number;
    };
    json: never;
    bytes: false;
    key: false;
    answer: Jobs;
  };
  /** a durable job, by its id or as key:KEY of its Idempotency-Key: its state, its attempts, and its progress */
  "GET /v1/jobs/{job}": {
    parts: {
      job: string;
    };
    query: {
      /** answer when the job is over, or after so many seconds */
      wait_s?: number;
    };
    json: never;
    bytes: false;
    key: false;
    answer: Job;
  };
  /** delete a durable job that is over, with its result */
  "DELETE /v1/jobs/{job}": {
    parts: {
      job: string;
    };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: never;
  };
  /** the result of a durable job that is over, as long as the job is kept */
  "GET /v1/jobs/{job}/result": {
    parts: {
      job: string;
    };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: Result;
  };
  /** cancel a durable job; a program that runs is stopped, and its output so far is the result */
  "POST /v1/jobs/{job}/cancel": {
    parts: {
      job: string;
    };
    query: { [name: string]: never };
    json: { [name: string]: never };
    bytes: false;
    key: false;
    answer: Cancelled;
  };
  /** open a session: a sandbox that stays, with its variables and files */
  "POST /v1/sessions": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: {
      /** an optional name besides the id; up to 64 letters, digits, `.`, `_` and `-` */
      name?: string;
      /** seconds without a cell after which it ends */
      idle_s?: number;
      /** seconds until it ends after it was opened */
      lifetime_s?: number;
      /** a snapshot with whose variables and files it begins; profile, limits and grants are the snapshot's and cannot be given */
      snapshot?: string;
      /** ports of servers in it that clients reach below /v1/sessions/ID/ports/, of those that the operator allows: 8000 */
      ports?: string[];
      /** name of its profile */
      profile?: string;
      /** variables to set inside */
      env?: { [name: string]: string };
      /** name of the environment with its packages */
      environment?: string;
      /** directories of the host that it sees at their own place: DIR, DIR:rw to write, or DIR:cow (sessions): what it writes waits to be applied or discarded */
      allow?: string[];
      /** where it starts: /workspace or a granted directory; without it, the granted directory if there is one */
      workdir?: string;
      /** hosts that it may reach, of those that the operator allows: api.example.org:443, *.example.org, http://HOST:PORT/PATH/ */
      net?: string[];
      /** wall-clock limit of a run or cell */
      timeout_s?: number;
      /** CPU time that all processes of a run or cell may use together; 0: no limit */
      cpu_time_s?: number;
      /** bytes kept of stdout, and of stderr; of longer output the middle is dropped */
      output_bytes?: number;
      /** memory of all processes of a program and of the files it writes */
      memory_mb?: number;
      /** share of the processor, in cores (0.5 is half of one); 0: no limit */
      cpus?: number;
      /** processes and threads at once */
      pids?: number;
      /** space for files written outside allowed directories; it also counts as memory */
      disk_mb?: number;
    };
    bytes: false;
    key: true;
    answer: Session;
  };
  /** the caller's sessions; with `all`, everybody's, for operators */
  "GET /v1/sessions": {
    parts: { [name: string]: never };
    query: {
      /** of all tokens; for operators */
      all?: boolean;
    };
    json: never;
    bytes: false;
    key: false;
    answer: Sessions;
  };
  /** one session, by its name or id */
  "GET /v1/sessions/{session}": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: Session;
  };
  /** end a session; its variables and files are gone; also for operators */
  "DELETE /v1/sessions/{session}": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: never;
  };
  /** run a cell; cells of one session run one after the other */
  "POST /v1/sessions/{session}/execute": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: {
      /** the program */
      code: string;
      /** default: python */
      language?: "python" | "bash" | "javascript" | "typescript";
      /** its standard input */
      stdin?: string;
      /** echo the last expression, as the Python prompt does */
      auto_print?: boolean;
      /** comes back with the answer; one is made up without it */
      correlation_id?: string;
      /** also return a signed receipt */
      receipt?: boolean;
      /** the id of the context to run it in, which decides on the language */
      context?: string;
      /** a line that it reads is asked for with the event `input`, and sent with POST /v1/runs/ID/stdin */
      stdin_open?: boolean;
      /** wall-clock limit of a run or cell */
      timeout_s?: number;
      /** CPU time that all processes of a run or cell may use together; 0: no limit */
      cpu_time_s?: number;
      /** bytes kept of stdout, and of stderr; of longer output the middle is dropped */
      output_bytes?: number;
      /** answer at once with the id; the run goes on without the client */
      detach?: boolean;
      /** files to put into /workspace before it starts */
      files?: ({
        /** path below /workspace */
        path: string;
        /** what is in it */
        content: string;
        /** encoding of `content` (default utf-8) */
        encoding?: "utf-8" | "base64";
        /** whether it is a program */
        executable?: boolean;
      })[];
      /** patterns of files to bring back, such as *.csv or ** /*.png */
      collect?: string[];
    };
    bytes: false;
    key: true;
    answer: Result;
  };
  /** stop the cell that runs, as Ctrl-C does; variables stay */
  "POST /v1/sessions/{session}/interrupt": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: { [name: string]: never };
    bytes: false;
    key: false;
    answer: Interrupted;
  };
  /** stop everything in the sandbox; memory and files stay, no CPU time is used */
  "POST /v1/sessions/{session}/pause": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: { [name: string]: never };
    bytes: false;
    key: false;
    answer: Session;
  };
  /** let a paused session go on */
  "POST /v1/sessions/{session}/resume": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: { [name: string]: never };
    bytes: false;
    key: false;
    answer: Session;
  };
  /** a fresh kernel of that language; variables are lost, files stay */
  "POST /v1/sessions/{session}/restart": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: {
      /** default: python */
      language?: "python" | "bash" | "javascript" | "typescript";
    };
    bytes: false;
    key: false;
    answer: Session;
  };
  /** a further kernel in the same sandbox, with variables and a directory of its own */
  "POST /v1/sessions/{session}/contexts": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: {
      /** default: python */
      language?: "python" | "bash" | "javascript" | "typescript";
      /** where it starts, in /workspace or in a granted directory; without it, where the session's code does */
      workdir?: string;
    };
    bytes: false;
    key: false;
    answer: Context;
  };
  /** the contexts that were opened */
  "GET /v1/sessions/{session}/contexts": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: Contexts;
  };
  /** a fresh kernel for the context; its variables are lost, files stay */
  "POST /v1/sessions/{session}/contexts/{context}/restart": {
    parts: {
      session: string;
      context: string;
    };
    query: { [name: string]: never };
    json: { [name: string]: never };
    bytes: false;
    key: false;
    answer: Context;
  };
  /** end a context; its variables are gone */
  "DELETE /v1/sessions/{session}/contexts/{context}": {
    parts: {
      session: string;
      context: string;
    };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: never;
  };
  /** the session's last cells with their answers, while these are kept */
  "GET /v1/sessions/{session}/cells": {
    parts: {
      session: string;
    };
    query: {
      /** at most so many (default 50) */
      limit?: number;
      /** only cells before the one with this id */
      before?: string;
    };
    json: never;
    bytes: false;
    key: false;
    answer: Cells;
  };
  /** names of the session's Python variables, with types and short values */
  "GET /v1/sessions/{session}/variables": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: Variables;
  };
  /** new sessions with the same variables and files, each in its own sandbox */
  "POST /v1/sessions/{session}/fork": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: {
      /** number of copies (default 1) */
      n?: number;
    };
    bytes: false;
    key: false;
    answer: Copied;
  };
  /** keep the present variables and files under a name */
  "POST /v1/sessions/{session}/checkpoint": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: {
      /** of the checkpoint; up to 64 letters, digits, `.`, `_` and `-` */
      name: string;
    };
    bytes: false;
    key: false;
    answer: Copied;
  };
  /** go back to a checkpoint; what came after it is lost */
  "POST /v1/sessions/{session}/restore": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: {
      /** of the checkpoint; up to 64 letters, digits, `.`, `_` and `-` */
      name: string;
    };
    bytes: false;
    key: false;
    answer: Copied;
  };
  /** keep the present variables and files for sessions to come, also when this one has ended */
  "POST /v1/sessions/{session}/snapshot": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: {
      /** of the snapshot; up to 64 letters, digits, `.`, `_` and `-` */
      name: string;
    };
    bytes: false;
    key: false;
    answer: Copied;
  };
  /** the caller's snapshots, newest first */
  "GET /v1/snapshots": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: Snapshots;
  };
  /** forget a snapshot; sessions that were opened from it go on */
  "DELETE /v1/snapshots/{name}": {
    parts: {
      name: string;
    };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: never;
  };
  /** names of the checkpoints, newest first */
  "GET /v1/sessions/{session}/checkpoints": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: Checkpoints;
  };
  /** forget a checkpoint */
  "DELETE /v1/sessions/{session}/checkpoints/{name}": {
    parts: {
      session: string;
      name: string;
    };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: never;
  };
  /** changes in copy-on-write directories that are not on the disk yet */
  "GET /v1/sessions/{session}/changes": {
    parts: {
      session: string;
    };
    query: {
      /** only changes at or below this path */
      path?: string;
      /** with the lines that changed, as unified diffs */
      diff?: boolean;
    };
    json: never;
    bytes: false;
    key: false;
    answer: Changes;
  };
  /** write the changes to the disk, each file as a whole */
  "POST /v1/sessions/{session}/apply": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: {
      /** only changes at or below this path, as in the list of changes (default: all) */
      paths?: string[];
      /** version of the list you looked at; refused if the changes differ now */
      version?: string;
      /** also overwrite files that changed on the disk */
      force?: boolean;
      /** `hidden_bytes` of these changes: apply them although so much of them was not shown */
      accept_hidden?: number;
    };
    bytes: false;
    key: false;
    answer: Settled;
  };
  /** show the session the directories as they are on the disk again */
  "POST /v1/sessions/{session}/discard": {
    parts: {
      session: string;
    };
    query: { [name: string]: never };
    json: {
      /** only changes at or below this path, as in the list of changes (default: all) */
      paths?: string[];
      /** version of the list you looked at; refused if the changes differ now */
      version?: string;
    };
    bytes: false;
    key: false;
    answer: Settled;
  };
  /** the entries of a directory of /workspace or /tmp, by path */
  "GET /v1/sessions/{session}/files": {
    parts: {
      session: string;
    };
    query: {
      /** the directory (default /workspace); one in /tmp or in a granted directory by its absolute path */
      path?: string;
      /** 1 (the default): its own entries; 0: all the way down */
      depth?: number;
      /** only paths that sort after this one: the last path of the previous page */
      after?: string;
      /** entries per page (default 1000); a page also ends at 512 KiB of paths */
      limit?: number;
    };
    json: never;
    bytes: false;
    key: false;
    answer: Files;
  };
  /** the bytes of a file, or with `Range` a part of them (206) */
  "GET /v1/sessions/{session}/files/{path}": {
    parts: {
      session: string;
      path: string;
    };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: never;
  };
  /** write a file, whole or not at all; missing parent directories are created */
  "PUT /v1/sessions/{session}/files/{path}": {
    parts: {
      session: string;
      path: string;
    };
    query: {
      /** mode 0755 instead of 0644 */
      executable?: boolean;
      /** refuse to replace a file */
      new?: boolean;
    };
    json: never;
    bytes: true;
    key: false;
    answer: File;
  };
  /** give a file or directory another path */
  "POST /v1/sessions/{session}/files/{path}": {
    parts: {
      session: string;
      path: string;
    };
    query: { [name: string]: never };
    json: {
      /** its new path in /workspace, or an absolute one in /tmp; missing directories are made */
      to: string;
      /** refuse to replace a file */
      new?: boolean;
    };
    bytes: false;
    key: false;
    answer: Moved;
  };
  /** delete a file, a link or a directory */
  "DELETE /v1/sessions/{session}/files/{path}": {
    parts: {
      session: string;
      path: string;
    };
    query: {
      /** a directory with all that is in it */
      recursive?: boolean;
    };
    json: never;
    bytes: false;
    key: false;
    answer: never;
  };
  /** changes in a directory of /workspace or /tmp, as events */
  "GET /v1/sessions/{session}/watch": {
    parts: {
      session: string;
    };
    query: {
      /** the directory (default /workspace), or an absolute path in /tmp */
      path?: string;
      /** all directories below it, too */
      recursive?: boolean;
    };
    json: never;
    bytes: false;
    key: false;
    answer: never;
  };
  /** the whole output of a run, by bytes, by lines, or the lines that match */
  "GET /v1/runs/{run}/output": {
    parts: {
      run: string;
    };
    query: {
      /** stdout (default) or stderr */
      stream?: "stdout" | "stderr";
      /** the first byte, or where the previous answer ended */
      offset?: number;
      /** the first line, from 1; the answer then has whole lines */
      line?: number;
      /** at most so many bytes, lines or matches */
      limit?: number;
      /** a regular expression (RE2): only lines that match */
      search?: string;
      /** letters match whatever their case */
      ignore_case?: boolean;
    };
    json: never;
    bytes: false;
    key: false;
    answer: Output;
  };
  /** the caller's skills and the public ones */
  "GET /v1/skills": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: Skills;
  };
  /** one skill, with its files and versions */
  "GET /v1/skills/{skill}": {
    parts: {
      skill: string;
    };
    query: {
      /** an earlier one; without it, or 0, the last */
      version?: number;
    };
    json: never;
    bytes: false;
    key: false;
    answer: Skill;
  };
  /** save a skill, or a new version of it: a ZIP file of its folder, or one module of Python */
  "PUT /v1/skills/{skill}": {
    parts: {
      skill: string;
    };
    query: {
      /** name of the profile its code is checked against */
      profile?: string;
      /** of a module; a folder has its own */
      description?: string;
    };
    json: never;
    bytes: true;
    key: false;
    answer: SkillSaved;
  };
  /** delete a skill with all its versions */
  "DELETE /v1/skills/{skill}": {
    parts: {
      skill: string;
    };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: never;
  };
  /** one file of a skill; text is masked */
  "GET /v1/skills/{skill}/files/{path}": {
    parts: {
      skill: string;
      path: string;
    };
    query: {
      /** an earlier one; without it, or 0, the last */
      version?: number;
    };
    json: never;
    bytes: false;
    key: false;
    answer: never;
  };
  /** remove the last version; the previous one becomes current */
  "POST /v1/skills/{skill}/undo": {
    parts: {
      skill: string;
    };
    query: { [name: string]: never };
    json: { [name: string]: never };
    bytes: false;
    key: false;
    answer: SkillVersion;
  };
  /** runs whose changes in directories granted with `:rw` can be undone, newest first */
  "GET /v1/undo": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: Undoable;
  };
  /** what an undo of the run would do */
  "GET /v1/runs/{run}/changes": {
    parts: {
      run: string;
    };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: Undo;
  };
  /** undo what the run changed in directories granted with `:rw` */
  "POST /v1/runs/{run}/undo": {
    parts: {
      run: string;
    };
    query: { [name: string]: never };
    json: {
      /** only report what would be done */
      dry_run?: boolean;
    };
    bytes: false;
    key: false;
    answer: Undo;
  };
  /** the caller's refactoring sessions, the last changed first */
  "GET /v1/states": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: Works;
  };
  /** begin a refactoring session, unless there is one of that name */
  "POST /v1/states": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: {
      /** up to 64 letters, digits, `_`, `-` and `.` */
      name: string;
      /** what it is about */
      description?: string;
    };
    bytes: false;
    key: false;
    answer: WorkMade;
  };
  /** the saved state of a refactoring session, and its history */
  "GET /v1/states/{work}": {
    parts: {
      work: string;
    };
    query: {
      /** an earlier one; without it, or 0, the last */
      version?: number;
    };
    json: never;
    bytes: false;
    key: false;
    answer: Work;
  };
  /** delete a refactoring session with its history */
  "DELETE /v1/states/{work}": {
    parts: {
      work: string;
    };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: never;
  };
  /** save the state of a refactoring session; earlier ones stay as its history */
  "POST /v1/states/{work}/versions": {
    parts: {
      work: string;
    };
    query: { [name: string]: never };
    json: {
      /** all that the next step needs, up to 1 MiB */
      state: { [name: string]: unknown };
      /** the version it was made from: 409 if there is a newer one */
      version?: number;
    };
    bytes: false;
    key: false;
    answer: WorkSaved;
  };
  /** records of the audit trail, newest first; for operators */
  "GET /v1/audit/records": {
    parts: { [name: string]: never };
    query: {
      /** only records of this kind */
      kind?: "start" | "run" | "session" | "file" | "token" | "refusal" | "server" | "begin" | "key" | "seal" | "repair" | "gap" | "call" | "pruned" | "undo" | "net" | "input";
      /** only records with this status */
      status?: "success" | "error" | "timeout" | "memory_exceeded" | "refused" | "cancelled" | "failed" | "unfinished";
      /** only records of the session with this id */
      session?: string;
      /** at most so many, the newest (default 100) */
      limit?: number;
      /** at a gateway: the machine whose trail it is */
      node?: string;
      /** only those of this token */
      owner?: string;
      /** only records that contain this text, without regard to case */
      text?: string;
      /** 2h, 7d, 2026-01-31 or 2026-01-31T12:00 (UTC) */
      since?: string;
      /** like `since` */
      until?: string;
      /** only records after the one with this number */
      after?: number;
      /** only records before the one with this number: `next` of the page before */
      before?: number;
    };
    json: never;
    bytes: false;
    key: false;
    answer: AuditList;
  };
  /** the signed head of the audit trail; for operators */
  "GET /v1/audit/head": {
    parts: { [name: string]: never };
    query: {
      /** at a gateway: the machine whose trail it is */
      node?: string;
    };
    json: never;
    bytes: false;
    key: false;
    answer: AuditHead;
  };
  /** the public key of the audit trail */
  "GET /v1/audit/key": {
    parts: { [name: string]: never };
    query: {
      /** at a gateway: the machine whose trail it is */
      node?: string;
    };
    json: never;
    bytes: false;
    key: false;
    answer: AuditKey;
  };
  /** check a receipt, or a result with its receipt, against the key of this server */
  "POST /v1/audit/receipt": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: { [name: string]: never };
    bytes: false;
    key: false;
    answer: ReceiptChecked;
  };
  /** records of the audit trail as they were written, oldest first, to be verified elsewhere; for operators */
  "GET /v1/audit/lines": {
    parts: { [name: string]: never };
    query: {
      /** records after the one with this number (default 0) */
      after?: number;
      /** at a gateway: the machine whose trail it is */
      node?: string;
    };
    json: never;
    bytes: false;
    key: false;
    answer: AuditLines;
  };
  /** the records of a run, a session or a correlation id, or the record with this `seq`; for operators */
  "GET /v1/audit/records/{id}": {
    parts: {
      id: string;
    };
    query: {
      /** at a gateway: the machine whose trail it is */
      node?: string;
    };
    json: never;
    bytes: false;
    key: false;
    answer: AuditRecords;
  };
  /** read the whole audit trail and report what is wrong with it; for operators */
  "POST /v1/audit/verify": {
    parts: { [name: string]: never };
    query: {
      /** at a gateway: the machine whose trail it is */
      node?: string;
    };
    json: { [name: string]: never };
    bytes: false;
    key: false;
    answer: AuditVerified;
  };
  /** the settings in force and where each comes from; for operators */
  "GET /v1/config": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: Settings;
  };
  /** names, rights and use of the tokens, never the tokens themselves; for operators */
  "GET /v1/tokens": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: Tokens;
  };
  /** add a token, which is shown once; for operators, from the server's own machine */
  "POST /v1/tokens": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: {
      /** up to 32 letters, digits, `_` and `-` */
      name: string;
      /** may see metrics, settings, tokens and the audit trail */
      operator?: boolean;
      /** may use the directories that the settings allow */
      grants?: boolean;
      /** only these profiles (default: all) */
      profiles?: string[];
      /** limits of the token by name, as GET /v1/tokens has them */
      limits?: { [name: string]: unknown };
    };
    bytes: false;
    key: false;
    answer: NewToken;
  };
  /** name, rights and use of the token that asks */
  "GET /v1/me": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: Me;
  };
  /** remove a token with all that it opened; for operators, from the server's own machine */
  "DELETE /v1/tokens/{name}": {
    parts: {
      name: string;
    };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: never;
  };
  /** how well the host can isolate, as `belljar doctor --json` says; for operators */
  "GET /v1/doctor": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: Doctor;
  };
  /** a code that gives a page a token once, within a minute, with the rights of the token that asks */
  "POST /v1/console/codes": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: { [name: string]: never };
    bytes: false;
    key: false;
    answer: ConsoleCode;
  };
  /** the token of a page, for a code */
  "POST /v1/console/token": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: {
      /** from POST /v1/console/codes */
      code: string;
    };
    bytes: false;
    key: false;
    answer: ConsoleToken;
  };
  /** end the page's token that asks */
  "DELETE /v1/console/token": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: never;
  };
  /** the web console, a page that uses these routes */
  "GET /console": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: never;
  };
  /** a file of the web console */
  "GET /console/{file}": {
    parts: {
      file: string;
    };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: never;
  };
  /** metrics of the server in Prometheus format; for operators */
  "GET /metrics": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: never;
  };
  /** the machines of a cluster, at a gateway: state, room, load, versions; for operators */
  "GET /v1/cluster/nodes": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: ClusterNodes;
  };
  /** the caller's running and waiting programs; for operators also metrics of the whole server */
  "GET /v1/stats": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: Stats;
  };
  /** languages of programs, and which of them this host can run */
  "GET /v1/languages": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: HostLanguages;
  };
  /** this API, as OpenAPI 3.1 */
  "GET /openapi.json": {
    parts: { [name: string]: never };
    query: { [name: string]: never };
    json: never;
    bytes: false;
    key: false;
    answer: OpenApi;
  };
}
