class A {
    f() {
        if (ok) {
          run();
          stop();
        }
    }
}
