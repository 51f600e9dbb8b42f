-- What a workbench knows: the tables of version 1, then what each later version adds.
create table if not exists studies (
    id text primary key, name text not null, created real not null, changed real not null,
    reading text not null, asked text not null, revision integer not null
);
create table if not exists files (
    study text not null references studies on delete cascade, role text not null, shown text not null,
    stored text not null, size integer not null, sha256 text not null, primary key (study, role)
);
create table if not exists runs (
    id text primary key, study text not null references studies on delete cascade, kind text not null,
    key text not null, asked text not null, state text not null, created real not null, ended real, problem text
);
create table if not exists notes (
    study text not null references studies on delete cascade, place text not null, text text not null,
    changed real not null, primary key (study, place)
);
create table if not exists watches (
    study text primary key references studies on delete cascade, going integer not null, planned integer not null,
    expected integer
);
create table if not exists sources (
    study text not null references studies on delete cascade, role text not null, path text not null,
    mark text not null, primary key (study, role)
);
create table if not exists arrived (
    study text not null references studies on delete cascade, role text not null, shown text not null,
    stored text not null, size integer not null, sha256 text not null, primary key (study, role)
);
create table if not exists arrivals (
    study text not null references studies on delete cascade, at real not null, told text not null
);
create table if not exists looks (
    study text not null references studies on delete cascade, data text not null, at real not null,
    primary key (study, data)
);
create index if not exists runs_of_study on runs (study, created);

-- Version 2: the names of all that was made and not removed yet; each is written here before the file is made.
create table if not exists ours (study text not null, stored text not null, primary key (study, stored));
insert or ignore into ours select id, '' from studies;
insert or ignore into ours select study, stored from files where instr(stored, '/') + instr(stored, '\') = 0;
insert or ignore into ours select study, stored from arrived;
